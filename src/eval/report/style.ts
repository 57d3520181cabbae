/**
 * The style of a report's page. The colours stay apart for people who see few of them, and series differ in shape or dashes as well.
 * A light scheme is printed whatever the screen has.
 */
export const REPORT_STYLE = `
:root{color-scheme:light dark;--page:#fff;--text:#1b1f24;--muted:#57606a;--line:#6e7781;--grid:#e4e7eb;--panel:#f6f8fa;
--run-a:#0067b1;--run-b:#b3420c;--harmful:#b3420c;--benign:#0067b1;--quiet:#6e7781;--bad:#a4133c}
@media screen and (prefers-color-scheme:dark){:root{--page:#14181d;--text:#e6e9ed;--muted:#a7b0ba;--line:#8b949e;--grid:#30363d;--panel:#1d2329;
--run-a:#58b6f0;--run-b:#f2a34a;--harmful:#f2a34a;--benign:#58b6f0;--quiet:#8b949e;--bad:#ff8fa3}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:76rem;background:var(--page);color:var(--text);
font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0}
h2{font-size:1.25rem;margin:2.5rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--grid)}
h3{font-size:1rem;margin:0 0 .25rem}
p,ul{margin:.5rem 0;max-width:48rem}
a{color:inherit}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1rem;padding:0;list-style:none;max-width:none}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:.75rem 0}
.facts dt{color:var(--muted)}.facts dd{margin:0;min-width:0}
.warning{border-left:4px solid var(--bad);background:var(--panel);padding:.5rem .75rem;max-width:none}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,21rem),1fr));gap:1rem;align-items:start;margin:1rem 0}
.pair{grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr))}
figure{margin:0;padding:.75rem;background:var(--panel);border-radius:.5rem;min-width:0}
figure svg{display:block;width:100%;max-width:27rem;height:auto;aspect-ratio:360/260;margin:0 auto}
figcaption{font-size:.875rem;margin-top:.35rem;color:var(--muted)}
.key{display:flex;flex-wrap:wrap;gap:.15rem 1rem;margin:.4rem 0 0;padding:0;list-style:none;font-size:.875rem}
.key svg{display:inline-block;width:1.75rem;height:.875rem;aspect-ratio:auto;margin:0 .35rem 0 0;vertical-align:-.1rem}
details{font-size:.875rem;margin-top:.5rem}
summary{cursor:pointer;color:var(--muted)}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-size:.875rem;margin:.25rem 0;font-variant-numeric:tabular-nums;overflow-wrap:normal}
caption{text-align:left;white-space:nowrap;color:var(--muted);padding:.25rem 0}
th,td{padding:.2rem .6rem;text-align:right;border-bottom:1px solid var(--grid);font-weight:400;white-space:nowrap}
th:first-child{text-align:left;padding-left:0}
thead th{color:var(--muted);vertical-align:bottom}
.words td:last-child,.words th:last-child{text-align:left;white-space:normal;min-width:22rem}
.words td,.words th{vertical-align:top}
.ids td:last-child,.ids th:last-child{min-width:0}.ids th:first-child,.ids caption{white-space:normal;min-width:7rem}.ids td{overflow-wrap:anywhere}
@media print{details:not([open]){display:none}.words td:last-child,.words th:last-child{min-width:0}body{max-width:none;padding:0;font-size:10pt}nav{display:none}
h2{break-after:avoid}figure,tr{break-inside:avoid}.figures{grid-template-columns:repeat(2,1fr)}.key,figcaption{font-size:8pt}
.scroll{overflow:visible}table{font-size:7.5pt}th,td{padding:.1rem .3rem}figure{border:1px solid var(--grid);background:none}}
`;
