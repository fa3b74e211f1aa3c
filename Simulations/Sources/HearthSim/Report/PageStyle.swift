/// The look of the page.
enum PageStyle {
  static let css = """
    :root{color-scheme:light dark;--bg:#fbfaf7;--fg:#23211d;--dim:#6d675d;--line:#d8d3c8;
    --card:#fff;--write:#1f6f8b;--bad:#b3261e;--badbg:#fbe4e1;--good:#2e6f40;--goodbg:#e3f1e5;
    --cut:#e0a458;--ahead:#d9822b;--behind:#5b6fc4;--off:#9a9489;--heat:31,111,139}
    @media(prefers-color-scheme:dark){:root{--bg:#191816;--fg:#ece7dd;--dim:#a39c8f;
    --line:#3b3833;--card:#22201d;--write:#6fc3df;--bad:#ff8a80;--badbg:#4a1f1b;--good:#8fd19e;
    --goodbg:#1f3a26;--cut:#a8742a;--ahead:#f0a04b;--behind:#8fa2ff;--off:#6d675d;
    --heat:111,195,223}}
    *{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);
    font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
    header,main{max-width:1180px;margin:0 auto;padding:16px}
    h1{font-size:1.5rem;margin:.2em 0 .6em}h2{font-size:1.2rem;margin:0 0 .5em}
    h3{font-size:1rem;margin:1.2em 0 .4em}
    section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:16px;
    margin:0 0 16px;min-width:0}
    .tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(132px,1fr));gap:8px;margin:0}
    .tiles div{background:var(--card);border:1px solid var(--line);border-radius:8px;
    padding:8px 10px}.tiles dt{color:var(--dim);font-size:.78rem;line-height:1.25}
    .tiles dd{margin:2px 0 0;font-size:1.25rem;font-weight:600;font-variant-numeric:tabular-nums}
    .tiles .bad dd{color:var(--bad)}.tiles .good dd{color:var(--good)}
    .verdict{padding:8px 12px;border-radius:8px;overflow-wrap:anywhere}
    .verdict.bad{background:var(--badbg);color:var(--bad)}
    .verdict.good,.good{color:var(--good)}.verdict.good{background:var(--goodbg)}
    .failures{padding-left:1.4em;margin:0;overflow-wrap:anywhere}.failures li{margin:.3em 0}
    .failures b{color:var(--bad)}
    .key{color:var(--dim);font-size:.85rem}.key span{margin-right:10px;display:inline-block}
    .key .x{color:var(--fg)}.key .x.crash{color:var(--bad)}.key .x.boot{color:var(--good)}
    .key .x.refusal{color:var(--ahead)}
    i.k{display:inline-block;width:12px;height:12px;vertical-align:-1px;border-radius:2px}
    i.dot{background:var(--write);border-radius:50%}
    i.ring{border:2px solid var(--write);border-radius:50%}
    i.t-write{background:var(--write);width:3px}i.t-off{background:var(--bad);width:3px}
    i.t-refused{background:var(--ahead);width:3px}
    i.cut{background:var(--cut);opacity:.5}
    i.offspan{background:var(--off)}i.ahead{background:var(--ahead)}
    i.behind{background:var(--behind)}
    .over{display:grid;grid-template-columns:max-content 1fr;gap:7px 10px;align-items:center}
    .over svg{width:100%;height:30px;display:block}.over .who{font-size:.85rem;font-weight:600}
    .scale{display:flex;justify-content:space-between;color:var(--dim);font-size:.75rem}
    .wide{overflow-x:auto;margin:0 -16px;padding:0 16px}
    svg text{font:12px system-ui,"DejaVu Sans",sans-serif;fill:var(--fg)}
    svg .head{font-weight:600}svg .time{fill:var(--dim);font-size:11px}
    svg .words.sync,svg .words.boot,svg .words.world,svg .words.step{fill:var(--dim)}
    svg .words.refused{fill:var(--ahead)}svg .words.off{fill:var(--bad)}
    svg .words.violation{fill:var(--bad);font-weight:600}
    .lane{stroke:var(--line);stroke-width:1.5}.off{stroke:var(--card);stroke-width:4}
    svg .off:not(text){stroke-dasharray:2 5;stroke:var(--off);stroke-width:2}
    .arrow{stroke:var(--dim);stroke-width:.9;opacity:.55}.arrow.many{stroke-width:2}
    .arrow.removal{stroke-dasharray:3 3;opacity:.3}.arrow.late{opacity:.18}
    .loss{fill:var(--bad);opacity:.7}
    i.loss{background:var(--bad);border-radius:50%;width:6px;height:6px;vertical-align:2px}
    @media(min-width:700px){.key .phone{display:none}}
    .tip{fill:var(--dim)}
    rect.cut{fill:var(--cut);opacity:.3}rect.ahead{fill:var(--ahead)}
    rect.behind{fill:var(--behind)}rect.bad{fill:var(--badbg)}rect.offspan{fill:var(--off)}
    .dot{fill:var(--write)}.ring{fill:var(--card);stroke:var(--write);stroke-width:1.5}
    .event{fill:var(--dim)}.crash{stroke:var(--bad);stroke-width:2.5;fill:none}
    .refusal{stroke:var(--ahead);stroke-width:2;fill:none}path.boot{fill:var(--good)}
    .gap{stroke:var(--dim);stroke-dasharray:2 4;stroke-width:1}
    .t-write{fill:var(--write)}.t-off{fill:var(--bad)}.t-refused{fill:var(--ahead)}
    table.grid{border-collapse:collapse;font-size:.82rem;font-variant-numeric:tabular-nums}
    .grid th,.grid td{padding:3px 8px;border:1px solid var(--line);text-align:right}
    .grid th:first-child{text-align:left;position:sticky;left:-16px;background:var(--card);
    white-space:nowrap}.grid td.part{background:var(--badbg);color:var(--bad)}
    .grid td.nothing{background:var(--badbg);color:var(--bad);font-weight:600}
    .grid td.all{background:var(--goodbg)}.grid td.none{color:var(--dim)}
    .kill td{text-align:center;min-width:38px}.kill tr.alive td,.kill tr.alive th{
    background:var(--badbg);color:var(--bad);text-align:left}
    ul.heat{list-style:none;margin:0;padding:0;display:grid;gap:4px;
    grid-template-columns:repeat(auto-fill,minmax(190px,1fr));font-size:.82rem}
    .heat li{display:flex;justify-content:space-between;gap:8px;padding:3px 8px;border-radius:5px;
    border:1px solid var(--line)}.heat b{font-weight:600;font-variant-numeric:tabular-nums}
    .heat li.h0{background:var(--badbg);color:var(--bad)}
    .h1{background:rgba(var(--heat),.08)}.h2{background:rgba(var(--heat),.16)}
    .h3{background:rgba(var(--heat),.26)}.h4{background:rgba(var(--heat),.36)}
    .h5{background:rgba(var(--heat),.48)}
    """
}
