"""Grammars of synthetic postal addresses: what all countries share, and the English-speaking ones.

Read by `grammar.parse_rules`; texts are tokens with blanks between them. `places` holds
`city~region~postcode`, where `/` separates ways to write a region. `layouts` holds the parts in
order: `?n` after a part keeps it n times in ten, and a comma may be left out. Invented towns and
surnames share stems and endings, so that a word alone rarely tells its field.
"""

from __future__ import annotations

from fieldcraft.corpus.datasets.grammar import Rules, parse_rules

SHARED: Rules = parse_rules("""
recipient = {person} | {person} | {person} | {title} {person} | {firm} | {firm}
  | {given} and {given} {surname} | {surname} {given} | {surname} | {foreigner}
person = {given} {surname} | {given} {surname} | {given} @. {surname} | @. {surname}
foreigner = {any_given} {any_surname} | {any_given} @. {any_surname}
any_given = Anna | Maria | Lucas | Paolo | Yuki | Ingrid | Omar | Chen | Priya | Ivan
any_surname = London | Paris | Milano | Sevilla | {en_town} | {de_town}er | {fr_town} | Okada
  | van {nl_town} | Ferrara | Valencia | Berlin | Haddad | Singh | Novak
title = Mr | Mrs | Ms | Dr. | Prof. | Herrn | Mme | Sig. | Sr.
note = Attn : | c/o | Deliver to : | Ref. #### | Order %### - | Tel. %## ### #### | Bill to
  | leave at door %# | Fragile ! | Customer %####
en_town = {en_stem}{en_tail}
en_stem = Ash | Oak | Brad | Har | Lang | Whit | Stan | Mar | Wes | Nor | Clif | Hart | Mil | Pres
  | Bux | Ald | Thorn | Red | Stock | Win | Lin | Dal | Row | Ber
en_tail = ton | ford | ham | ley | well | field | bury | wick | worth | den
de_town = {de_stem}{de_tail}
de_stem = Linden | Rosen | Eichen | Stein | Wald | Mühl | Neu | Ober | Alt | König | Schön | Birken
  | Kirch | Brunn | Frei | Wolf | Hohen | Rhein
de_tail = stadt | heim | hausen | burg | berg | dorf | furt | feld | bach | tal
fr_town = {fr_head}{fr_tail}
fr_head = Mont | Beau | Roche | Clair | Haute | Neu | Belle | Gran | Vau | Cour
fr_tail = ville | fort | mont | lieu | val | court | champ | combe | bois | pré
nl_town = {nl_stem}{nl_tail}
nl_stem = Zand | Heer | Oud | Nieuw | Wester | Ooster | Hilver | Wad | Roos | Eind
nl_tail = dam | hoven | veen | wijk | burg | recht | sluis | broek | daal | dijk
""")

ENGLISH: Rules = parse_rules("""
given = James | Mary | Robert | Linda | Austin | Madison | Sydney | Lincoln | Paris | Grace | Henry
  | Victoria | George | Charlotte | Dallas | Florence | Walter | Alice | Jordan
surname = Smith | Jones | {en_town} | {en_town} | {en_town} | Washington | Jackson | Lincoln
  | Houston | Cleveland | York | Park | Lane | Hill | Street | Church | Brooks | King | St. Clair
  | O'Neill | Wells | Chester | Lancaster | Rhodes | Bath | Woods
firm = {surname} & {surname} {legal} | {surname} {trade} {legal} | {en_town} {trade}
  | {en_town} Road {trade} | Bank of {en_town} | The {en_town} {trade} | {surname} {legal}
  | {surname} Street {trade} | University of {en_town} | {en_town} Park {trade}
  | First {surname} {trade} | Hotel {en_town} | 4th Avenue {trade} | Suite 9 {trade}
legal = Ltd | Ltd. | Inc. | LLC | & Sons | plc | Co.
trade = Bakery | Garage | Books | Dental | School | Church | Motors | Hotel | Clinic
""")

UNITED_STATES: Rules = parse_rules("""
names = USA | U.S.A. | United States | US | United States of America
places = New York~NY/New York~100## | Boston~MA/Mass.~021## | Lincoln~NE/Nebraska~685##
  | Washington~DC/D.C.~200## | Houston~TX/Texas~770## | Paris~TX/Texas~754##
  | Kansas City~MO/Missouri~641## | Nevada~MO/Missouri~647## | California~MD/Maryland~206##
  | Madison~WI/Wisconsin~537## | Jackson~MS/Mississippi~392## | Naples~FL/Florida~341##
  | Berlin~NH/New Hampshire~035## | Cleveland~OH/Ohio~441## | San Jose~CA/Calif.~951##
  | St. Louis~MO/Missouri~631## | Austin~TX/Texas~787## | Delaware~OH/Ohio~430##
  | {en_town}~PA/Penn.~1%### | {en_town}~VA/Virginia~22### | New {en_town}~CT/Conn.~06###
  | {en_town} Falls~ID/Idaho~83### | Fort {surname}~IN/Indiana~46###
  | {en_town}~WA/Washington~98### | West {en_town}~IL/Illinois~60###
  | {surname} City~NV/Nevada~89### | {en_town}~MA/Massachusetts~01###
house_number = % | %# | %## | %### | %#### | %#-## | %##@ | %## 1/2
street = {surname} {way} | {surname} | {en_town} | {side} {surname} {way} | {ordinal} {way}
  | {en_town} {way} | {side} {ordinal} {way} | {given} {surname} {way} | Avenue @ | County Road %#
  | Highway %# | {surname} {way} {side} | Martin Luther King Jr. {way} | Avenue of the {tree}s
  | {tree} {way} | Broadway | {given} {way} | Old {en_town} {way} | Route %## | {tree} {tree} {way}
side = N | S | E | W | North | West | NE | SW | N. | East
ordinal = 1st | 2nd | 3rd | 5th | 12th | 42nd | 23rd | Fifth | Second | 101st
way = St | Street | St. | Ave | Avenue | Rd | Road | Blvd | Dr | Drive | Ln | Ct | Park
tree = Oak | Maple | Elm | Cedar | Pine | Walnut | Willow | Lake | River | America
unit = Apt % | Apt. %@ | Suite %## | Ste %## | Unit % | Floor % | Fl. % | %@ | Bldg @ | Apt %##
po_box = PO Box %### | P.O. Box %## | POB %#### | Box %## | P O Box %#
layouts =
  | note?1 recipient?7 , house_number street , unit?4 , city , region?9 postcode?9 , country?4
  | note?1 recipient?7 , house_number street unit?4 , city region?9 postcode?9 , country?4
  | recipient?8 , unit?6 , house_number street , city , region postcode?8 , country?3
  | recipient?9 , po_box , city , region postcode?9 , country?5
  | house_number street , unit?4 , city , region?5 , note?2
  | country?7 , postcode , region , city , street house_number
""")

UNITED_KINGDOM: Rules = parse_rules("""
names = UK | United Kingdom | England | Great Britain | U.K.
places = London~Greater London~{zone} {inward} | London~~{zone} {inward}
  | Lincoln~Lincolnshire/Lincs.~LN% {inward} | York~North Yorkshire~YO1% {inward}
  | Chester~Cheshire~CH% {inward} | Lancaster~Lancashire/Lancs.~LA% {inward}
  | Boston~Lincolnshire~PE2% {inward} | Bath~Somerset~BA% {inward}
  | Stratford upon Avon~Warwickshire~CV3% {inward} | Wells~Somerset~BA% {inward}
  | Washington~Tyne and Wear~NE3% {inward} | {en_town}~Essex~CM% {inward}
  | {en_town}~Kent~ME1%{inward} | {en_town} on Sea~Essex~SS% {inward}
  | Great {en_town}~Norfolk~NR2% {inward} | {en_town}~West Yorkshire/W. Yorks.~LS1% {inward}
  | {en_town} St {given}~Kent~TN% {inward} | {en_town}~~B%#{inward}
  | St {surname}s~Fife~KY1% {inward}
zone = SW% | NW% | E1% | W1@ | SE% | EC%@
inward = %@@
house_number = % | %# | %# | %## | %#@ | %@ | %-%#
street = {surname} {way} | {en_town} {way} | {surname} | {given} {surname} | High Street
  | Church {way} | Station {way} | The {green} | {given} {way} | St {given}'s {way}
  | Old {en_town} {way} | King's {way} | Upper {surname} {way} | London {way} | Park {way}
  | {en_town} | Broadway | York {way}
way = Street | St | Road | Rd | Lane | Close | Avenue | Gardens | Court | Hill | Place | Park
green = Green | Avenue | Crescent | Broadway | Hill | Lane | Street
unit = Flat % | Flat %@ | Unit % | Apartment %# | {surname} House | {en_town} Cottage
  | Flat % {surname} House | The Old {trade} | {en_town} Court | % {surname} House | Floor %
  | Studio %
po_box = PO Box %## | P.O. Box %###
layouts =
  | note?1 recipient?7 , unit?4 , house_number street , city , region?5 , postcode?9 , country?3
  | note?1 recipient?7 , unit?4 , house_number street , city , postcode?9 , country?3
  | recipient?7 , house_number , street , city , region?3 , postcode , country?2
  | recipient?9 , unit , street , city , region?5 postcode , country?3
  | recipient?9 , po_box , city , postcode , country?3
  | street house_number , unit?3 , city postcode?5 , note?2
""")

CANADA: Rules = parse_rules("""
names = Canada | CANADA | CA
places = Toronto~ON/Ontario~M%@ %@% | London~ON/Ontario~N6@ %@% | Victoria~BC/B.C.~V8@ %@%
  | Québec~QC/Québec~G1@ %@% | Montréal~QC~H3@ %@% | {en_town}~AB/Alberta~T%@ %@%
  | {en_town}~NS/Nova Scotia~B3@ %@% | Fort {en_town}~BC~V1@ %@% | St. {given}~ON~L%@ %@%
  | {fr_town}~QC/Québec~J%@ %@% | Saint {en_town}~NB~E2@%@%
house_number = % | %# | %## | %### | %#-%### | %##@
street = {surname} {way} | {surname} | {surname} {way} {side} | {ordinal} {way} | {en_town} {way}
  | {tree} {way} | rue {fr_town} | boul. {surname} | rue Saint-{given} | {given} {way}
  | Concession %# | {ordinal} Line
side = N | S | E | W | West | East | Ouest | NW
ordinal = 1st | 2nd | 3rd | 5th | 12th | 4e | 104th
way = St | Street | Ave | Avenue | Rd | Road | Blvd | Dr | Cres | Trail | Park | Hill
tree = Oak | Maple | Elm | Cedar | Pine | Birch | Lake | River
unit = Apt % | Unit %# | Suite %## | app. % | bureau %## | % | Floor %
po_box = PO Box %### | C.P. %### | RR % | P.O. Box %# Stn @
layouts =
  | note?1 recipient?7 , house_number street , unit?4 , city , region?8 postcode?9 , country?4
  | recipient?7 , unit?6 house_number street , city region?8 postcode?9 , country?4
  | recipient?9 , po_box , city , region postcode?9 , country?5
""")
