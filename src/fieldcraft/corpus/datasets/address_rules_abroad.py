"""Grammars of synthetic postal addresses outside the English-speaking countries.

Written as in `address_rules`; each is laid over the rules that all countries share.
"""

from __future__ import annotations

from fieldcraft.corpus.datasets.grammar import Rules, parse_rules

GERMANY: Rules = parse_rules("""
names = Germany | Deutschland | D | DE | GERMANY
places = Berlin~~1%### | München~Bayern~80### | Köln~NRW~50### | Hamburg~~2%###
  | Frankfurt am Main~Hessen~60### | Bremen~Bremen~28### | {de_town}~~%####
  | {de_town}~Hessen~3%### | {de_town}~Sachsen~0%### | Bad {de_town}~~%####
  | {de_town} am Main~~6%### | {de_town} ( {de_stem}tal )~~5%### | Neustadt~~%####
  | St. {given}~~%####
given = Hans | Anna | Karl | Ursula | Jürgen | Sabine | Otto | Heidi | Georg | Lena | Martin
surname = Müller | Schmidt | {de_town}er | {de_town}er | {de_town} | {de_town} | Berg | Bach
  | von {de_town} | Kaiser | Braun | Bayer | Hamburger | Frankfurter | Hess | Platz | Weg | Sachs
firm = {surname} GmbH | {surname} & {surname} AG | Autohaus {surname} | Bäckerei {surname}
  | Hotel {de_town} | Stadtwerke {de_town} | Universität {de_town} | Gasthof zum {de_stem}
  | {de_town}er Hof | Praxis Dr. {surname}
house_number = % | %# | %## | %#@ | %# a | %-%# | %#/%
street = {de_stem}{joined} | {de_stem}{joined} | {surname}{joined} | {de_town}er {apart}
  | {given}-{surname}-{apart} | Am {de_stem}{hill} | An der {de_stem}mühle | Hauptstr.
  | {de_stem}er {apart} | Straße des 17. Juni | Auf dem {de_stem}{hill} | Platz der Republik
  | Im {de_town} | Unter den Linden | @ %
joined = straße | str. | strasse | weg | allee | platz | gasse | ring | hof | berg
hill = berg | feld | hof | bach | tal
apart = Straße | Str. | Allee | Weg | Platz | Ring | Landstraße
unit = Hinterhaus | %. OG | % . Stock | Whg. % | Haus @ | EG links | bei {surname} | Etage %
po_box = Postfach %# ## ## | Postfach %### | Postf. %####
layouts =
  | note?1 recipient?8 , street house_number?9 , unit?2 , postcode city , region?1 , country?3
  | note?1 recipient?8 , street house_number?9 , postcode?9 city , country?3
  | recipient?8 , unit?5 , street house_number , postcode city country?3
  | recipient?9 , po_box , postcode city , country?4
  | street house_number , city postcode?5 , country?4
  | postcode city , street house_number , recipient?5
""")

FRANCE: Rules = parse_rules("""
names = France | FRANCE | FR | F
places = Paris~~750## | Lyon~Rhône~6900% | Marseille~~1300% | Nice~Alpes-Maritimes~06###
  | Tours~~37### | {fr_town}~~%#### | {fr_town}~~%##00 | {fr_town} sur Seine~~9%###
  | Saint {given}~~%##00 | {fr_town} lès {fr_town}~~%##00 | La {fr_town}~Vendée~85##0
  | Saint-{given}-de-{fr_town}~~%#### | Lyon CEDEX 0%~~69### | Vienne~Isère~38200
given = Jean | Marie | Pierre | Claire | Martin | Vincent | Denis | Germain | Étienne | Louise
  | Colette
surname = Martin | Dubois | {fr_town} | {fr_town} | {fr_town} | de {fr_town} | Lefort | Duval
  | Lyon | Vincent | Saint-{given} | Paris | Laplace | Delarue | Tours | Picard | Normand | Leroy
firm = Boulangerie {surname} | {surname} et Fils | SARL {fr_town} | Hôtel de {fr_town}
  | Mairie de {fr_town} | Café de la Place | Garage {surname} SA | Lycée {given} {surname}
  | Pharmacie de la Rue {surname}
house_number = % | %# | %## | % bis | %# ter | %#@ | %-%#
street = rue {surname} | {surname} | rue de la {thing} | {way} {given} {surname}
  | {way} de {fr_town} | {way} Saint-{given} | rue du 8 Mai 1945 | {way} du Général {surname}
  | {way} des {thing}s | place de la {thing} | chemin de {fr_town} | {way} du 14 Juillet
  | Quai {surname} | {way} de Paris | Le {fr_town} | Lieu-dit {fr_town}
way = rue | Rue | avenue | av. | Av. | bd | Boulevard | allée | impasse | cours
thing = République | Liberté | Mairie | Gare | Église | Fontaine | Paix | Poste | Forêt
unit = Bât. @ | Appt %# | Apt % | %e étage | Résidence {fr_town} | Esc. % | Résidence Les {thing}s
  | Porte %
po_box = BP %## | B.P. %# | CS %####
layouts =
  | note?1 recipient?8 , unit?3 , house_number?9 street , po_box?1 , postcode?9 city , country?3
  | note?1 recipient?8 , house_number , street , unit?2 , postcode city , country?3
  | recipient?8 , house_number street postcode city , region?3 country?3
  | recipient?9 , po_box , postcode city , country?4
  | house_number street , city postcode?5 , country?4
""")

NETHERLANDS: Rules = parse_rules("""
names = Netherlands | The Netherlands | Nederland | NL | Holland
places = Amsterdam~~10## @@ | Utrecht~Utrecht~35## @@ | Rotterdam~~30##@@ | Den Haag~~25## @@
  | {nl_town}~~%### @@ | {nl_town}~Friesland~8### @@ | {nl_town}~Zeeland~43##@@
  | {nl_town} aan Zee~~2### @@ | Groningen~Groningen~97##@@ | Berg en {nl_tail}~Gelderland~65## @@
  | {nl_town}~~%###@@
given = Jan | Anneke | Pieter | Sanne | Willem | Marijke | Kees | Floor | Daan | Femke
surname = de Vries | van {nl_town} | van der {nl_tail} | {nl_town} | {nl_stem}man | Jansen
  | van den Berg | Bakker | van Utrecht | Dijkstra | Hollander | ter {nl_tail} | Westerdam | Visser
firm = {surname} B.V. | Bakkerij {surname} | Gemeente {nl_town} | Fietsen {nl_town}
  | {surname} & Zn. | Hotel {nl_town} | Café het {nl_stem}plein
house_number = % | %# | %## | %#-@ | %#@ | %# bis | %#-%# | %## III
street = {nl_stem}{joined} | {nl_stem}{joined} | {nl_town}se{joined} | {given} {surname}{joined}
  | {surname}{joined} | Oude {nl_stem}{joined} | Plein 1940 | Laan van {nl_town}
  | 1e {nl_stem}dwarsstraat | 2e {nl_stem}{joined} | {nl_town} | Burg. {surname}{joined}
joined = straat | str. | laan | weg | gracht | plein | kade | singel | dijk | hof
unit = bov. | hs | {joined} % | verd. % | unit % | kamer %# | Gebouw @ | App. %
po_box = Postbus %### | Postbus %## | Antwoordnr. %##
layouts = note?1 recipient?8 , street house_number unit?2 , postcode?9 city , region?2 , country?3
  | recipient?8 , street house_number , postcode city country?3
  | recipient?9 , po_box , postcode city , country?4 | street house_number , city , country?6
""")

SPAIN: Rules = parse_rules("""
names = España | Spain | ESPAÑA | ES
places = Madrid~Madrid~280## | Barcelona~Barcelona~080## | Sevilla~~410## | Toledo~Toledo~450##
  | Córdoba~Córdoba~140## | Villa{es_tail}~Burgos~09### | Villa{es_tail} de {surname}~Cuenca~16###
  | San {given}~Cádiz~11### | Santa {given} de {es_town}~Jaén~23### | {es_town}~Granada~18###
  | {es_town} del {es_thing}~León~24### | Puerto {es_tail}~Las Palmas~35### | La {es_thing}~~2####
es_town = {es_stem}{es_end} | Villa{es_tail}
es_stem = Mont | Alm | Cast | Val | Guadal | Torr | Ben | Mor
es_end = illa | ería | ejón | ante | quivir | ellón | ares | eda | ina | ón
es_tail = nueva | real | franca | hermosa | verde | blanca | mayor | toro
es_thing = Río | Fuente | Torre | Iglesia | Sol | Paz | Cruz | Constitución | Mar
given = José | María | Carlos | Lucía | Antonio | Carmen | Fernando | Pilar | Diego | Teresa
  | Pedro
surname = García | López | Toledo | Sevilla | Burgos | {es_town} | {es_town} | de la {es_thing}
  | Molina | Torres | Cuenca | León | Cruz | García {es_town} | López Calle | Plaza | Córdoba
firm = {surname} S.L. | Hotel {es_town} | Bar La {es_thing} | {surname} e Hijos
  | Farmacia {surname} | Ayuntamiento de {es_town} | Talleres {surname} S.A. | Caja {es_town}
house_number = % | %# | %## | nº % | n.º %# | s/n | %# bis | núm. %#
street = {way} {surname} | {surname} | {way} de {es_town} | {way} de la {es_thing}
  | {way} {given} {surname} | {way} Mayor | {way} San {given} | {way} %# de Mayo
  | {way} del {es_thing} | Gran Vía | Calle % | {way} de Madrid | Rambla de {es_town}
way = Calle | C/ | C. | Avda. | Avenida | Plaza | Pza. | Paseo | Ctra. | Camino
unit = %º @ | piso % | %º izda. | bajo | Esc. % | % - %ª | local % | puerta %
po_box = Apartado %### | Apdo. %## | Apdo. de Correos %#
layouts =
  | note?1 recipient?8 , street , house_number , unit?5 , postcode?9 city , region?5 , country?3
  | note?1 recipient?8 , street house_number unit?4 , postcode city region?4 country?3
  | recipient?8 , street house_number , unit?3 , city , postcode?6 , country?5
  | recipient?9 , po_box , postcode city , country?4
""")

ITALY: Rules = parse_rules("""
names = Italia | Italy | ITALIA | I
places = Roma~RM/( RM )~001## | Milano~MI/( MI )~201## | Firenze~FI/( FI )~501## | Napoli~NA~801##
  | Ferrara~FE/( FE )~441## | {it_town}~TO/( TO )~10### | {it_town}~BG~24###
  | Castel {it_town}~PD/( PD )~35### | San {given}~VE/( VE )~30###
  | {it_town} di Sopra~BL/Belluno~32### | Monte {it_town}~( AN )~60###
  | {it_town} Terme~( SI )/Siena~53###
it_town = {it_stem}{it_tail}
it_stem = Mont | Cast | Vill | Ross | Bell | Ferr | Pont | Lod | Serr | Cam
it_tail = alto | ello | ino | ano | ara | erosa | eno | ate | icchio | ona
given = Marco | Giulia | Paolo | Francesca | Luca | Chiara | Giuseppe | Lucia | Vittorio | Donato
  | Roma
surname = Rossi | {it_town} | {it_town} | Ferrari | Milano | Romano | di {it_town} | Napoli
  | Fontana | De Luca | Costa | Genovese | Piazza | Via
firm = {surname} S.r.l. | Fratelli {surname} | Bar {it_town} | Hotel {it_town}
  | Comune di {it_town} | Trattoria da {given} | Farmacia {surname} S.p.A. | Banca di {it_town}
house_number = % | %# | %## | %#/@ | n. % | %/% | %# bis | snc
street = {way} {surname} | {surname} | {way} {given} {surname} | {way} {it_town}
  | {way} San {given} | {way} {it_thing} | {way} XX Settembre | {way} 4 Novembre | {way} Roma
  | {way} dei {surname} | {way} di {it_town} | Strada Provinciale %# | Località {it_town}
  | Largo %# Marzo
way = Via | via | V. | Viale | V.le | Piazza | P.zza | Corso | C.so | Vicolo
it_thing = Garibaldi | della Repubblica | del Mare | della Stazione | Dante | Mazzini | dei Mille
unit = int. % | Interno %# | Scala @ | piano % | Pal. @ | Scala @ int. %
po_box = C.P. %## | Casella Postale %# | CP %###
layouts = note?1 recipient?8 , street , house_number , unit?3 , postcode city region?8 , country?3
  | note?1 recipient?8 , street house_number unit?3 , postcode?9 city , region?7 , country?3
  | recipient?8 , street house_number , city region?6 , country?5
  | recipient?9 , po_box , postcode city region?6 , country?4
""")

JAPAN: Rules = parse_rules("""
names = Japan | JAPAN | JP
places = Tokyo~Tokyo-to/Tokyo~1##-#### | Osaka~Osaka-fu/Osaka~5##-####
  | Kyoto~Kyoto-fu/Kyoto~60#-#### | Yokohama~Kanagawa~22#-#### | {jp_town}~Chiba/Chiba-ken~26#-####
  | {jp_town} City~Miyazaki~88#-#### | {jp_town}-shi~Fukushima-ken/Fukushima~96#-####
  | {jp_town}-shi~Yamaguchi/Yamaguchi Pref.~75#-#### | {jp_town}~Ishikawa~92#-####
  | Chiba~Chiba~26#-#### | Sapporo~Hokkaido~06#####
jp_town = {jp_stem}{jp_tail}
jp_stem = Yama | Kawa | Fuku | Naka | Matsu | Taka | Miya | Ishi | Hiro | Nishi | Kita
jp_tail = moto | shima | saki | da | mura | gawa | yama | hara | no | guchi | oka
given = Yuki | Haruto | Sakura | Kenji | Aiko | Hiroshi | Emi | Takeshi | Naomi | Ren
surname = {jp_town} | {jp_town} | {jp_town} | Sato | Suzuki | Tanaka | Chiba | Kyota | Honda | Nara
firm = {jp_town} K.K. | {surname} Shoten | Hotel {jp_town} | {jp_town} University
  | {surname} Clinic | {jp_town} Co. Ltd. | {jp_town} Building K.K.
house_number = %-%-% | %-%# | %-%#-% | %#-% | %##-% | %-%-%##
street = {jp_town}-cho | {jp_town} %-chome | {jp_town}-ku {jp_town} | {jp_town}-ku | {jp_town}
  | {jp_town}-machi | {jp_town}-dori | Kita {jp_town} | {jp_town}-ku {jp_town} %-chome
  | Higashi-{jp_town}
unit = #%F | Room %## | {jp_town} Bldg. %F | {jp_town} Building | %## {jp_town} Heights
  | {jp_town} Mansion %##
po_box = P.O. Box %# | PO Box %##
layouts =
  | note?1 recipient?8 , unit?3 , house_number street , city , region?6 postcode?9 , country?5
  | recipient?8 , house_number , street , city , region?5 , country?6 postcode?6
  | postcode , region?7 city street house_number unit?3 , recipient?7 , country?4
  | recipient?9 , po_box , city , postcode , country
""")
