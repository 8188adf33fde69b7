"""The style sheet of a report: for phones, screens, dark rooms and paper."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1b1b1b; --soft: #555555; --line: #d4d4d4; --tint: #f4f6f8;
  --accent: #005a8c;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #15171a; --ink: #e8e8e8; --soft: #b4b8bd; --line: #3b4046; --tint: #1f2327;
    --accent: #7cc4f0;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0 auto; max-width: 50rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere;
}
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0.5rem 0 1rem; }
h3 { font-size: 1rem; margin: 1rem 0 0.3rem; }
h2 {
  font-size: 1.2rem; margin: 2.2rem 0 0.8rem; padding-bottom: 0.2rem;
  border-bottom: 1px solid var(--line);
}
p { margin: 0 0 0.7rem; }
.note { border-left: 0.25rem solid #d55e00; background: var(--tint); padding: 0.6rem 0.8rem; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: 0.6rem; }
dl div { background: var(--tint); border-radius: 0.4rem; padding: 0.6rem; }
dt { color: var(--soft); font-size: 0.85rem; }
dd { margin: 0; }
dd strong { display: block; font-size: 1.5rem; line-height: 1.3; color: var(--accent); }
dd small { color: var(--soft); }
figure { margin: 0 0 1.5rem; }
img { display: block; max-width: 100%; height: auto; background: #ffffff; border-radius: 0.4rem; }
figcaption { color: var(--soft); font-size: 0.9rem; margin-top: 0.3rem; }
.wide { overflow-x: auto; margin: 0 0 1.5rem; }
table {
  border-collapse: collapse; overflow-wrap: break-word;
  font-size: 0.9rem; font-variant-numeric: tabular-nums;
}
caption { text-align: left; color: var(--soft); padding-bottom: 0.3rem; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.9rem 0.3rem 0; }
thead th, tbody tr { border-bottom: 1px solid var(--line); }
tbody th { font-weight: normal; }
thead th { font-weight: 600; }
#models td, #models thead th + th, #labels td, #labels thead th + th { text-align: right; }
.rule-table table { width: 100%; }
.rule-table td { overflow-wrap: anywhere; }
.rule-table td:nth-child(4) span { display: inline !important; }
.rule-table :is(th, td):nth-child(-n+3) { width: 1%; }
.rule-table :is(th, td):nth-child(4) { width: 38%; }
@media screen and (min-width: 75rem) {
  .rule-table { margin-left: -10rem; margin-right: -10rem; }
}
@media (max-width: 600px) {
  #models { font-size: 0.72rem; }
  #models th, #models td { padding-right: 0.3rem; }
  #labels { font-size: 0.8rem; }
  #labels th, #labels td { padding-right: 0.6rem; }
  /* A rule becomes a block of its own; the notebook's styles are in its cells. */
  .rule-table thead { display: none; }
  .rule-table :is(table, caption, tbody, tr) { display: block; }
  .rule-table tr { padding: 0.5rem 0; }
  .rule-table :is(td, caption) { border: 0 !important; padding: 0 !important; }
  .rule-table td { display: block; text-align: left !important; width: auto !important; }
  .rule-table td:nth-child(-n+3) { display: inline-block; margin-right: 0.8rem; }
  .rule-table td:nth-child(1)::before { content: "rule "; }
  .rule-table td:nth-child(2) span { padding-right: 1rem; }
  .rule-table td:nth-child(3)::before { content: "rows "; }
  .rule-table td:nth-child(1), .rule-table td:nth-child(n+4)::before { font-weight: 600; }
  .rule-table td:nth-child(4)::before { content: "IF "; }
  .rule-table td:nth-child(5)::before { content: "THEN "; }
}
pre {
  background: var(--tint); border-radius: 0.4rem; padding: 0.8rem; margin: 0;
  font-size: 0.85rem; white-space: pre-wrap;
}
@page { margin: 15mm; }
@media print {
  :root { --paper: #ffffff; --ink: #000000; --soft: #000000; --tint: #ffffff; --accent: #000000; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  dl div, pre { border: 1px solid var(--line); }
  .wide { overflow: visible; }
  th, td { padding-top: 0.15rem; padding-bottom: 0.15rem; }
  figure, .wide, tr, dl div, .note { break-inside: avoid; }
  .rule-table { break-inside: auto; }
  h2, h2 + p, caption, thead { break-after: avoid; }
  img { max-height: 110mm; width: auto; }
}
"""
