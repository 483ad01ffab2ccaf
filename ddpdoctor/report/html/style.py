"""Pure. The page's style sheet."""

#: colours have a contrast of at least 4.5 with their background, in both schemes
STYLE = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--card:#f6f8fa;--alarm:#b3261e;
--alarm-soft:#fdecea;--warn:#8a5a00;--good:#1a6b33;--link:#0756a8;--mark:#fff3c4;--data:#7a8794;--forward:#3b78c3;
--backward:#7452b8;--update:#2a8a57;--call:#c07a12;--now:#c9372c}
@media (prefers-color-scheme:dark){:root{--paper:#0f1318;--ink:#e6eaef;--soft:#a3adb8;--line:#343c46;--card:#181e25;
--alarm:#ff8a80;--alarm-soft:#35191a;--warn:#f0b849;--good:#6fd08c;--link:#79b8ff;--mark:#4a3d10;--data:#8996a3;
--forward:#5d97df;--backward:#9a7ce0;--update:#46b078;--call:#dd9a33;--now:#f0655a}}
*{box-sizing:border-box}
html{scroll-padding-top:3.2rem}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main,header,footer{max-width:82rem;margin:0 auto;padding:0 1.25rem}
code,pre,kbd,.mono,svg text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
code,pre{font-size:.875rem}
a{color:var(--link)}
a:focus-visible,button:focus-visible,summary:focus-visible,input:focus-visible,.wide:focus-visible{outline:3px solid
var(--link);outline-offset:2px;border-radius:4px}
.skip{position:absolute;left:-100vw}
.skip:focus{left:1rem;top:.5rem;z-index:3;background:var(--paper);padding:.5rem}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
header{padding-top:2rem}
h1{font-size:clamp(1.25rem,1rem + 1.4vw,1.9rem);line-height:1.25;margin:.75rem 0 .5rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:0 0 .5rem}
h3{font-size:1rem;margin:1.25rem 0 .5rem}
nav{position:sticky;top:0;z-index:2;background:var(--paper);border-bottom:1px solid var(--line);margin-top:1.25rem}
nav ul{display:flex;gap:.25rem 1.1rem;overflow-x:auto;list-style:none;max-width:82rem;margin:0 auto;
padding:.6rem 1.25rem}
nav a{white-space:nowrap;text-decoration:none;font-size:.925rem}
nav a:hover{text-decoration:underline}
section{padding:1.75rem 0;border-bottom:1px solid var(--line)}
section:last-child{border-bottom:0}
.lead{color:var(--soft);margin:.25rem 0 1rem;max-width:85ch}
.badges{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;margin:0;padding:0;list-style:none}
.badges li{border:1px solid var(--line);border-radius:999px;padding:.1rem .7rem;font-size:.875rem;color:var(--soft)}
.badges .outcome{font-weight:700;letter-spacing:.04em;border-color:currentColor}
.hang .outcome,.crash .outcome{color:var(--alarm)}
.slow .outcome,.desync .outcome{color:var(--warn)}
.healthy .outcome{color:var(--good)}
.times{color:var(--soft);margin:.25rem 0 0;font-size:.925rem}
dl.why{display:grid;grid-template-columns:max-content 1fr;gap:.6rem 1.25rem;margin:1.25rem 0 0;max-width:90ch}
dl.why dt{font-weight:600;color:var(--soft)}
dl.why dd{margin:0;overflow-wrap:anywhere}
dl.why ul{margin:.25rem 0 0;padding-left:1.1rem}
@media (max-width:36rem){dl.why{grid-template-columns:1fr;gap:.1rem}dl.why dd{margin-bottom:.6rem}}
figure{margin:0 0 1rem}
figcaption{display:flex;gap:.75rem;align-items:baseline;flex-wrap:wrap;margin-bottom:.35rem;overflow-wrap:anywhere}
pre{margin:0;padding:.75rem .9rem;background:var(--card);border:1px solid var(--line);border-radius:8px;overflow:auto}
.frame .n{color:var(--soft);user-select:none}
.frame .here{background:var(--mark);display:inline-block;min-width:100%}
.frame .arrow{color:var(--alarm);font-weight:700}
.wide{overflow-x:auto;border-radius:8px}
table{border-collapse:collapse;width:100%;font-size:.925rem}
th,td{text-align:left;padding:.4rem .75rem .4rem 0;border-bottom:1px solid var(--line);vertical-align:top}
thead th{color:var(--soft);font-weight:600;white-space:nowrap}
tbody th{font-weight:600;white-space:nowrap}
td{min-width:6.5rem}
td:has(code){min-width:11rem}
td code{white-space:pre-wrap;overflow-wrap:anywhere}
tr.odd th,tr.odd td,th.odd,td.odd{background:var(--alarm-soft)}
tr.odd th:first-child{box-shadow:inset 3px 0 var(--alarm);padding-left:.6rem}
.matrix td,.matrix th{white-space:nowrap;padding-right:1.1rem}
.matrix .odd{padding-left:.6rem}
.state-in{color:var(--warn);font-weight:600}
.state-absent,.state-gave-up{color:var(--alarm);font-weight:600}
.state-done{color:var(--soft)}
svg{display:block;max-width:none}
svg text{font-size:12px;fill:var(--ink)}
svg .soft{fill:var(--soft)}
svg .lane{fill:var(--card)}
svg .odd-lane{fill:var(--alarm-soft)}
svg .data{fill:var(--data)}svg .forward{fill:var(--forward)}svg .backward{fill:var(--backward)}
svg .update{fill:var(--update)}svg .call{fill:var(--call)}svg .now{fill:var(--now)}
svg .bar{stroke:var(--paper);stroke-width:1}
svg .on-bar{fill:#fff;font-weight:600}
@media (prefers-color-scheme:dark){svg .on-bar{fill:#101418}}
svg .parting{stroke:var(--ink);stroke-width:2;stroke-dasharray:4 3}
svg .parting-head{fill:var(--ink)}
svg .tick{stroke:var(--line)}
svg .node{fill:var(--card);stroke:var(--line);stroke-width:1.5}
svg .node.core{stroke:var(--alarm);stroke-width:2.5;fill:var(--alarm-soft)}
svg .edge{stroke:var(--soft);stroke-width:1.5;fill:none}
svg .edge.core{stroke:var(--alarm);stroke-width:2.5}
svg .any{stroke-dasharray:5 4}
svg .head{fill:var(--soft)}svg .head.core{fill:var(--alarm)}
svg .strong{font-weight:700}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;list-style:none;margin:.75rem 0 0;padding:0;font-size:.875rem;
color:var(--soft)}
.legend svg{display:inline-block;vertical-align:-1px;margin-right:.4rem}
details{margin:.4rem 0}
summary{cursor:pointer;padding:.15rem 0;overflow-wrap:anywhere}
details.branch{border-left:2px solid var(--line);padding-left:.8rem;margin:.4rem 0 .4rem .15rem}
ol.frames{list-style:none;margin:.15rem 0;padding:0;font-size:.875rem}
ol.frames li{padding:.1rem 0 .1rem .2rem;overflow-wrap:anywhere}
ol.frames .place{color:var(--soft)}
ol.frames .installed{color:var(--soft)}
.count{color:var(--soft);font-weight:400}
.find{display:flex;gap:.6rem;align-items:center;margin:0 0 .75rem;flex-wrap:wrap}
.find[hidden]{display:none}
.find input{font:inherit;padding:.35rem .6rem;border:1px solid var(--soft);border-radius:6px;background:var(--paper);
color:var(--ink);min-width:min(22rem,100%)}
.miss{display:none}
.copy{font:inherit;font-size:.825rem;padding:.1rem .6rem;border:1px solid var(--line);border-radius:6px;
background:var(--card);color:var(--ink);cursor:pointer}
.copy:hover{border-color:var(--soft)}
footer{color:var(--soft);font-size:.875rem;padding-bottom:2rem}
@media print{nav,.copy,.find,.skip{display:none}section{break-inside:avoid}.wide{overflow:visible}}
"""
