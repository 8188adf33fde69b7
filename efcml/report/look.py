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
#models td, #models thead th + th { text-align: right; }
@media (max-width: 600px) {
  #models { font-size: 0.72rem; }
  #models th, #models td { padding-right: 0.3rem; }
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
  h2, h2 + p, caption, thead { break-after: avoid; }
  img { max-height: 230mm; }
}
"""
