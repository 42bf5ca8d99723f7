import type { Topics } from './topics.ts';

export const german: Topics = [
  {
    query: 'Wann wird eine unbezahlte Rechnung angemahnt?',
    documents: [
      'Vierzehn Tage nach Fälligkeit der Rechnung geht eine Mahnung an den Kunden.',
      'Rechnungen, die zwei Monate unbezahlt bleiben, übernimmt das Inkassobüro.',
      'Bei Zahlungsverzug fallen Zinsen in Höhe von fünf Prozent an.',
    ],
  },
  {
    query: 'Wie viele Urlaubstage haben Mitarbeiter?',
    documents: [
      'Jeder Mitarbeiterin und jedem Mitarbeiter stehen dreißig Tage Urlaub zu.',
      'Der Resturlaub verfällt im März, wenn die Vorgesetzte nicht anders entscheidet.',
      'Freie Tage werden im Personalkalender beantragt.',
    ],
  },
  {
    query: 'Akku im Laptop austauschen',
    documents: [
      'Die Werkstatt tauscht den Akku des Laptops innerhalb von zwei Tagen.',
      'Akkutausch: zuerst die sechs Schrauben an der Unterseite lösen.',
      'Ein Rechner, der nicht mehr lädt, gehört zum Kundendienst.',
    ],
  },
  {
    query: 'Kennwort vergessen, wie zurücksetzen',
    documents: [
      'Wer sein Kennwort vergessen hat, klickt auf den Verweis unter der Anmeldung.',
      'Kennwörter setzt die Administration in der Benutzerliste zurück.',
      'Melden Sie sich mit dem Code aus der Kurznachricht an und wählen Sie neue Zugangsdaten.',
    ],
  },
  {
    query: 'Kaffeemaschine reinigen',
    documents: [
      'Die Kaffeemaschine wird jeden Abend mit einer Tablette gereinigt.',
      'Reinigung und Entkalkung der Maschine sind einmal im Monat fällig.',
      'Den Milchbehälter nach Gebrauch heiß ausspülen.',
    ],
  },
  {
    query: 'Erstattung bei Verspätung der Bahn',
    documents: [
      'Ab einer Stunde Verspätung erstattet die Bahn ein Viertel des Fahrpreises.',
      'Zugverspätungen werden am Bahnhof und in der App angezeigt.',
      'Die Entschädigung für Fahrkarten wird binnen vier Wochen überwiesen.',
    ],
  },
  {
    query: 'Termin für die Grippeimpfung',
    documents: [
      'Termine für die Impfung gegen Grippe werden ab Oktober vergeben.',
      'Die Betriebsärztin impft dienstags zwischen neun und zwölf Uhr.',
      'Influenza breitet sich im Winter aus; Ältere sollten sich rechtzeitig schützen.',
    ],
  },
  {
    query: 'Mietvertrag kündigen',
    documents: [
      'Die Kündigungsfrist des Mietvertrags beträgt drei Monate.',
      'Eine Kündigung muss von Hand unterschrieben und per Post geschickt werden.',
      'Am letzten Tag übergeben die Bewohner die Schlüssel der Wohnung.',
    ],
  },
  {
    query: 'Tomaten im Garten gießen',
    documents: [
      'Tomatenpflanzen brauchen viel Wasser: im Sommer wird zweimal täglich gegossen.',
      'Im Garten gießt man morgens, und nur an den Wurzeln.',
      'Gemüse wächst in einem sonnigen Beet mit guter Erde am besten.',
    ],
  },
  {
    query: 'Wer schreibt das Protokoll der Besprechung?',
    documents: [
      'Das Protokoll der Besprechung schreibt, wer am kürzesten dabei ist.',
      'Besprechungsprotokolle gehen am nächsten Tag an alle Teilnehmenden.',
      'Beschlüsse des Teams liegen im gemeinsamen Ordner.',
    ],
  },
  {
    query: 'Heizung wird nicht warm',
    documents: [
      'Bleibt die Heizung kalt, muss zuerst der Heizkörper entlüftet werden.',
      'Der Hausmeister schaltet die Heizungsanlage in der ersten Oktoberwoche ein.',
      'In den Büros darf die Temperatur nicht unter zwanzig Grad fallen.',
    ],
  },
  {
    query: 'Brot mit Sauerteig backen',
    documents: [
      'Sauerteigbrot wird eine Stunde gebacken, die ersten zehn Minuten sehr heiß.',
      'Am Abend vor dem Backen füttert man den Sauerteig mit Mehl und Wasser.',
      'Ein guter Laib klingt hohl, wenn man an die Kruste klopft.',
    ],
  },
];
