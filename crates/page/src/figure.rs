//! Pictures of a page: each with a title and a text in its place, and a table
//! of its numbers.

use render::HtmlText;
use render::Table;

#[derive(Debug)]
pub(crate) struct PagePicture<'p> {
    /// Of the element; no other has it.
    pub(crate) id: String,
    /// Its kind, as the style and the script know it.
    pub(crate) kind: &'static str,
    pub(crate) title: String,
    /// What one sees, in sentences, for who does not.
    pub(crate) told: String,
    /// Pixels.
    pub(crate) width: f64,
    /// Pixels.
    pub(crate) height: f64,
    pub(crate) table: &'p Table<'p>,
}

impl PagePicture<'_> {
    /// Writes it around what `draw` draws.
    pub(crate) fn write(&self, out: &mut HtmlText, draw: impl FnOnce(&mut HtmlText)) {
        out.mark("<figure class=\"").mark(self.kind).mark("\" id=\"").words(&self.id);
        out.mark("\"><figcaption>").words(&self.title).mark("</figcaption>");
        out.mark("<div class=\"wide\" role=\"group\" tabindex=\"0\" aria-label=\"");
        out.words(&self.title).mark("\"><svg role=\"img\" aria-labelledby=\"").words(&self.id);
        out.mark("-title ").words(&self.id).mark("-told\" width=\"").measure(self.width);
        out.mark("\" height=\"").measure(self.height).mark("\" viewBox=\"0 0 ");
        out.measure(self.width).mark(" ").measure(self.height).mark("\"><title id=\"");
        out.words(&self.id).mark("-title\">").words(&self.title).mark("</title><desc id=\"");
        out.words(&self.id).mark("-told\">").words(&self.told).mark("</desc>\n");
        draw(out);
        out.mark("</svg></div><p class=\"told\">").words(&self.told);
        out.mark("</p><details><summary>The numbers of this picture</summary>\n");
        self.table.html(out);
        out.mark("</details></figure>\n");
    }
}
