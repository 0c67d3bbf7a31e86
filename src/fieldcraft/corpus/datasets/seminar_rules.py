"""Grammar of synthetic seminar announcements.

Read by `grammar.parse_rules`. A slash ends a line, and `?n` before a line keeps it n times in
ten. Slots in angle brackets are filled from the facts of the announcement:

    <speaker> <host> <colleague> <poster>   a full name; only the speaker is labelled
    <place> <start> <end>                   labelled location, start, end
    <other_place> <other_start> <other_end> not labelled
    <person> <room> <clock>                 in the body: one of the above, in sentences that do not
                                            tell which
"""

from __future__ import annotations

from fieldcraft.corpus.datasets.grammar import Rules, parse_rules

SEMINARS: Rules = parse_rules("""
announcement = {posted} / {body} / {closing} | {posted} / {body} / {closing} | {cued} / {body}
  / {closing} | {cued} / {body} / {closing} | {poster} / {body} / {closing} | {table} / {body}
  | {letter} / {body} / {closing}
posted = Type : org.{list}.seminars / Topic : {title} / Dates : {date} / Time : {from_to}
  / ?8 Place : <place> / PostedBy : <poster> on {date} at {stamp} / ?5 Host : <host> / Abstract :
  / {introduction}
cued = {who} : <speaker> / ?7 {school} / {what} : {title} / {when} : {date} , {from_to}
  / {where} : <place> / ?6 {hosted} : <host> / ?5 {aside}
poster = {school} / presents / ?5 {series} / <speaker> / ?6 {school} / {title} / {date} / {from_to}
  / <place> / ?4 Introduced by <host> / ?5 {aside}
table = {series} / <speaker> {date} {from_to} <place>
  / ?7 <colleague> {date} {other_times} <other_place>
  / ?5 <host> {date} {other_times} <other_place> / {title} / ?3 {aside}
letter = {greeting} , / {introduction}
  / The {talk} is on {date} from <start> {until} <end> in <place> . | {greeting} ,
  / On {date} at <start> in <place> , <speaker> of {school} will speak about {topic} .
  / <host> has kindly offered to introduce the {talk} .
introduction = <speaker> of {school} will give a {talk} . | Join us for a {talk} by <speaker> .
  | Speaker : <speaker> , {school} | We are happy to have <speaker> with us this week .
  | Our guest is <speaker> , invited by <host> . | <host> invites you to hear <speaker> .
from_to = <start> | <start> - <end> | <start> - <end> | <start> to <end> | from <start> until <end>
until = to | until | -
other_times = <other_start> - <other_end> | <other_start>
aside = Coffee at <other_start> in <other_place> . | Refreshments : <other_start> , <other_place>
  | RSVP to <colleague> by <other_start> . | Contact : <colleague> , x%-#### | Phone : %##-####
  | Co-organised by <colleague> .
body = {sentence} / {sentence} / {sentence} / {sentence} | {sentence} / {sentence} / {sentence}
  / {sentence} / {sentence} / {sentence}
sentence = {about_person} | {about_person} | {about_person} | {about_room} | {about_time}
  | {about_topic}
about_person = <person> has worked on {topic} since 19## .
  | The methods of <person> apply to {topic} .
  | In recent work <person> showed that {topic} depends on {topic} .
  | <person> received a degree in {topic} from {school} . | As <person> notes , {topic} is hard .
  | A paper by <person> on {topic} can be had on request .
  | Students may meet <person> after lunch .
  | Some years ago <person> and <colleague> began to study {topic} .
  | Few know {topic} like <person> . | The book by <person> has %## pages on {topic} .
  | <person> is a member of the {series} committee .
  | Joint work with <colleague> extends what <person> found . | Questions go to <person> .
about_room = <room> is on the %th floor . | Seats in <room> are limited . | Signs lead to <room> .
  | Please enter <room> by the rear door . | Coats may be left outside <room> .
about_time = Please be there by <clock> . | Nobody is let in after <clock> .
  | Doors open at <clock> . | The building is busy around <clock> .
  | Buses arrive shortly before <clock> .
about_topic = We survey {topic} and {topic} . | The talk needs no knowledge of {topic} .
  | New bounds for {topic} are given . | Applications to {topic} will be shown .
closing = {aside} | Reply to <poster> .
  | For a meeting with <speaker> call <colleague> at %##-#### . | All are welcome .
  | Posted again by <poster> at {stamp} . | Next week : <colleague> on {topic} .
who = Who | WHO | Speaker | SPEAKER | Name | By
what = What | Title | TITLE | Topic | Subject
when = When | WHEN | Date | Time
where = Where | WHERE | Place | Location | Room
hosted = Host | HOST | Organiser | Chair | Contact
greeting = Dear all | Hello | Dear colleagues | Hi everyone
talk = talk | seminar | lecture | colloquium
series = {field} Seminar | {field} Colloquium | {en_town} Lectures | Friday Talks | Robotics Lunch
school = {field} Department | University of {en_town} | {en_town} College | {en_town} Laboratories
  | School of {field} | {en_town} Institute of Technology
field = Physics | Statistics | Robotics | Biology | History | Linguistics | Economics | Chemistry
list = cs | physics | stat | bio | econ | cmp
title = " {Topic} and {Topic} " | {Topic} : The {en_town} View | On {Topic}
  | Towards {Topic} for {Topic} | What {surname} Knew about {Topic} | {Topic} in {en_town}
Topic = Planning | Protein Folding | Learning | Sparse Graphs | Speech | Market Design | Old Maps
  | Vision | Crystal Growth | Parsing | Robust Control | Memory
topic = planning | protein folding | machine learning | sparse graphs | speech | market design
  | old maps | vision | crystal growth | parsing | robust control | memory | queues | tides
date = {day} , {month} {number} | {number}-{month}-9# | {day} {month} {number}
  | {month} {number} , 199#
number = % | 1# | 2%
day = Monday | Tuesday | Wednesday | Thursday | Friday | Mon | Thu
month = January | March | April | May | Oct | Nov | September
stamp = %:{minute}:{minute} | 1#:{minute} | 0%:{minute}
minute = 0# | 1# | 2# | 3# | 4# | 5#
given = Alice | Robert | June | April | Austin | Carol | David | Ewa | Frank | Grace | Hugo | Ivy
  | Jun | Karl | Lena | Mark | May | Nora | Omar | Pia | Quinn | Raj | Sara | Tom | Uma | Victor
  | Wei | Zoe
surname = {en_town} | {en_town} | {en_town} | {en_stem}{en_ending} | {en_stem}{en_ending} | Hall
  | Page | May | Baker | Porter | Field | Wells | Bishop | Church | Lane
en_town = {en_stem}{en_tail}
en_stem = Ash | Oak | Brad | Har | Lang | Whit | Stan | Mar | Wes | Nor | Clif | Hart | Mil | Pres
  | Bux | Ald | Thorn | Red | Stock | Win | Lin | Dal | Row | Ber | Cal | Dun | Fair | Gar
en_tail = ton | ford | ham | ley | well | field | bury | wick | worth | den
en_ending = man | son | er | s | kin | more | ard | ell
honorific = Dr. | Prof. | Professor | Mr. | Ms.
building = {en_town} Hall | {en_town} Building | {en_town} Hall | {surname} Auditorium
  | {en_town} Centre
""")
