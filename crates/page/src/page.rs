//! The page, from its policy to its script.

use crate::content::PageContent;
use crate::policy::{SCRIPT, STYLE, policy};
use crate::sections::{
    absent, callers, causes, curve, levels, maps, members, recording, routines, sharing, sites,
    threads,
};
use render::HtmlText;

struct PageSection {
    id: &'static str,
    title: &'static str,
    write: fn(&PageContent, &mut HtmlText),
}

fn sections(content: &PageContent) -> Vec<PageSection> {
    let of =
        |id, title, write, is_there: bool| is_there.then_some(PageSection { id, title, write });
    let all = [
        of("recording", "What was sampled", recording::write, true),
        of("causes", "Why, and what to change", causes::write, content.causes.is_ok()),
        of("sites", "Where", sites::write, true),
        of("threads", "Threads", threads::write, content.threads.is_ok()),
        of("callers", "Who called", callers::write, content.callers.is_ok()),
        of("maps", "Over time", maps::write, content.maps.is_ok()),
        of("curve", "Misses by cache size", curve::write, content.curve.is_ok()),
        of("levels", "Latency by level", levels::write, content.levels.is_ok()),
        of("members", "Members of types", members::write, content.types.is_ok()),
        of("sharing", "Lines that threads share", sharing::write, content.sharing.is_ok()),
        of("routines", "Instructions", routines::write, content.routines.is_ok()),
        of("absent", "Not on this page", absent::write, absent::is_there(content)),
    ];
    all.into_iter().flatten().collect()
}

pub fn render(content: &PageContent) -> String {
    let mut out = HtmlText::default();
    head(content, &mut out);
    let sections = sections(content);
    out.mark("<body>\n<a class=\"skip\" href=\"#main\">To the content</a>\n<header><h1>");
    out.words(&content.name).mark("</h1><p>").words(&content.made_by).mark("</p></header>\n");
    out.mark("<nav aria-label=\"Sections\"><ul>");
    for section in &sections {
        out.mark("<li><a href=\"#").mark(section.id).mark("\">").mark(section.title);
        out.mark("</a></li>");
    }
    out.mark("</ul></nav>\n<main id=\"main\">\n");
    for section in &sections {
        out.mark("<section id=\"").mark(section.id).mark("\" aria-labelledby=\"");
        out.mark(section.id).mark("-h\"><h2 id=\"").mark(section.id).mark("-h\">");
        out.mark(section.title).mark("</h2>\n");
        (section.write)(content, &mut out);
        out.mark("</section>\n");
    }
    out.mark("</main>\n<script>").mark(SCRIPT).mark("</script>\n</body>\n</html>\n");
    out.into_text()
}

fn head(content: &PageContent, out: &mut HtmlText) {
    out.mark("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.mark("<meta http-equiv=\"Content-Security-Policy\" content=\"").words(&policy());
    out.mark("\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.mark("<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    out.words(&content.name).mark("</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>");
    out.mark(STYLE).mark("</style>\n</head>\n");
}
