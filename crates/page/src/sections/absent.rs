//! What a page does not show, and why.

use crate::content::PageContent;
use render::HtmlText;

fn reasons(content: &PageContent) -> Vec<(&'static str, &str)> {
    let all = [
        ("Why, and what to change", content.causes.as_ref().err()),
        ("Threads", content.threads.as_ref().err()),
        ("Who called", content.callers.as_ref().err()),
        ("Over time", content.maps.as_ref().err()),
        ("Misses by cache size", content.curve.as_ref().err()),
        ("Latency by level", content.levels.as_ref().err()),
        ("Members of types", content.types.as_ref().err()),
        ("Lines that threads share", content.sharing.as_ref().err()),
        ("Instructions", content.routines.as_ref().err()),
    ];
    all.into_iter().filter_map(|(what, why)| Some((what, why?.as_str()))).collect()
}

pub(crate) fn is_there(content: &PageContent) -> bool {
    !reasons(content).is_empty()
}

pub(crate) fn write(content: &PageContent, out: &mut HtmlText) {
    out.mark("<dl class=\"facts\">");
    for (what, why) in reasons(content) {
        out.mark("<dt>").mark(what).mark("</dt><dd>").words(why).mark("</dd>");
    }
    out.mark("</dl>\n");
}
