//! What is seen, and what keys do to it.

mod paging;

use crate::key_bytes::TopKey;
use crate::seen_rows::{RowQuestion, SeenRow, seen_rows};
use crate::totals::{EventTotals, TopTotals};
use crate::view_kind::ViewKind;
use crate::view_order::ViewOrder;
use crate::zoom_text::ZoomText;
use analysis::Glob;
use analysis::annotate::{RoutineTarget, What};
use analysis::report::{Report, SiteCell};
use paging::Paging;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopAction {
    None,
    Quit,
    Suspend,
    Zoom(RoutineTarget),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Above {
    #[default]
    Nothing,
    Help,
    Zoom {
        text: ZoomText,
        target: RoutineTarget,
    },
}

#[derive(Debug, Default)]
pub struct TopView {
    pub(crate) source: SourceState,
    pub(crate) totals: TopTotals,
    frozen: Option<TopTotals>,
    pub(crate) event: usize,
    pub(crate) kind: Option<ViewKind>,
    pub(crate) order: ViewOrder,
    pub(crate) is_reversed: bool,
    pub(crate) by_thread: bool,
    pub(crate) filter: String,
    pub(crate) typed: Option<String>,
    pub(crate) above: Above,
    pub(crate) rows: Vec<SeenRow>,
    pub(crate) paging: Paging,
    /// The row that the cursor stays on, once it was moved.
    followed: Option<SeenRow>,
    wants_lines: bool,
}

impl TopView {
    pub fn new(title: &str) -> TopView {
        let source = SourceState { title: title.to_owned(), ..SourceState::default() };
        TopView { source, kind: Some(ViewKind::Sites), ..TopView::default() }
    }

    /// Takes in what an interval of so many seconds counted: a report by
    /// [`crate::sampled_keys`].
    pub fn add(&mut self, report: &Report, seconds: f64) {
        self.totals.add(report, seconds);
        if self.frozen.is_none() {
            self.refresh();
        }
    }

    /// Nothing was heard of who counts for so many seconds beyond an interval;
    /// 0: it keeps up. Gives whether that is new.
    pub fn fall_behind(&mut self, seconds: u64) -> bool {
        let before = std::mem::replace(&mut self.source.behind, seconds);
        before != seconds
    }

    /// No more will come, for this reason.
    pub fn end(&mut self, why: &str) {
        self.source.ended = Some(why.to_owned());
        // Nothing happens now.
        self.totals.intervals += 1;
        self.totals.now_seconds = 0.0;
        if self.frozen.is_none() {
            self.refresh();
        }
    }

    pub fn is_paused(&self) -> bool {
        self.frozen.is_some()
    }

    /// Whether source lines are looked at: reports are to have them from now
    /// on.
    pub fn wants_lines(&self) -> bool {
        self.wants_lines
    }

    pub fn zoomed(&mut self, text: &str) {
        let screen = self.paging.page().unsigned_abs();
        if let Above::Zoom { text: zoom, .. } = &mut self.above {
            zoom.fill(text, screen);
        }
    }

    pub(crate) fn kind(&self) -> ViewKind {
        self.kind.unwrap_or(ViewKind::Sites)
    }

    pub(crate) fn shown(&self) -> &TopTotals {
        self.frozen.as_ref().unwrap_or(&self.totals)
    }

    pub(crate) fn seen_event(&self) -> Option<&EventTotals> {
        self.shown().events.get(self.event)
    }

    /// Does what a key means; [`TopAction`] says what is left to do.
    pub fn press(&mut self, key: TopKey) -> TopAction {
        match key {
            TopKey::Control('c') => return TopAction::Quit,
            TopKey::Control('z') => return TopAction::Suspend,
            TopKey::Control(_) => return TopAction::None,
            _ => {}
        }
        if self.typed.is_some() {
            self.type_filter(key);
            return TopAction::None;
        }
        match &self.above {
            Above::Nothing => self.press_in_rows(key),
            Above::Help => {
                self.above = Above::Nothing;
                TopAction::None
            }
            Above::Zoom { .. } => self.press_in_zoom(key),
        }
    }

    fn type_filter(&mut self, key: TopKey) {
        let Some(mut text) = self.typed.take() else { return };
        match key {
            TopKey::Enter => self.filter = text.to_lowercase(),
            TopKey::Esc => {}
            TopKey::Backspace => {
                text.pop();
                self.typed = Some(text);
            }
            TopKey::Char(letter) => {
                text.push(letter);
                self.typed = Some(text);
            }
            _ => self.typed = Some(text),
        }
        self.refresh();
    }

    fn press_in_zoom(&mut self, key: TopKey) -> TopAction {
        let page = self.paging.page();
        let Above::Zoom { text, target } = &mut self.above else { return TopAction::None };
        match key {
            TopKey::Esc | TopKey::Char('q') | TopKey::Backspace | TopKey::Left => {
                self.above = Above::Nothing;
            }
            TopKey::Up | TopKey::Char('k') => text.scroll(-1),
            TopKey::Down | TopKey::Char('j') => text.scroll(1),
            TopKey::PageUp => text.scroll(-page),
            TopKey::PageDown => text.scroll(page),
            TopKey::Home => text.first = 0,
            TopKey::End => text.first = text.last(),
            TopKey::Enter | TopKey::Char('r') => return TopAction::Zoom(target.clone()),
            _ => {}
        }
        TopAction::None
    }

    fn press_in_rows(&mut self, key: TopKey) -> TopAction {
        let page = self.paging.page();
        match key {
            TopKey::Esc | TopKey::Char('q') => return TopAction::Quit,
            TopKey::Char('h' | '?') => self.above = Above::Help,
            TopKey::Char('p' | ' ') => self.pause(),
            TopKey::Up | TopKey::Char('k') => self.step(-1),
            TopKey::Down | TopKey::Char('j') => self.step(1),
            TopKey::PageUp => self.step(-page),
            TopKey::PageDown => self.step(page),
            TopKey::Home => {
                self.step(isize::MIN);
                self.followed = None;
            }
            TopKey::End => self.step(isize::MAX),
            TopKey::Tab => self.look(self.kind().next()),
            TopKey::BackTab => self.look(self.kind().previous()),
            TopKey::Char('s') => {
                self.order = self.order.next();
                self.refresh();
            }
            TopKey::Char('S') => {
                self.is_reversed = !self.is_reversed;
                self.refresh();
            }
            TopKey::Char('t') => {
                self.by_thread = !self.by_thread;
                self.followed = None;
                self.refresh();
            }
            TopKey::Char('e') => {
                let events = self.shown().events.len().max(1);
                self.event = (self.event + 1) % events;
                self.look(self.kind());
            }
            TopKey::Char('/') => self.typed = Some(String::new()),
            TopKey::Enter | TopKey::Right => return self.zoom(),
            TopKey::Char(digit) => {
                if let Some(kind) = ViewKind::of_digit(digit) {
                    self.look(kind);
                }
            }
            _ => {}
        }
        TopAction::None
    }

    fn pause(&mut self) {
        self.frozen = match self.frozen {
            Some(_) => None,
            None => Some(self.totals.clone()),
        };
        self.refresh();
    }

    fn look(&mut self, kind: ViewKind) {
        self.kind = Some(kind);
        self.wants_lines |= kind == ViewKind::Lines;
        self.followed = None;
        self.paging.step(isize::MIN, self.rows.len());
        self.refresh();
    }

    fn step(&mut self, by: isize) {
        self.paging.step(by, self.rows.len());
        self.followed = self.rows.get(self.paging.at).cloned();
    }

    fn zoom(&mut self) -> TopAction {
        let row = self.rows.get(self.paging.at);
        let Some(site) = row.and_then(|row| row.site.as_ref()) else { return TopAction::None };
        let (target, title) = (target(site), site.to_string());
        let text = ZoomText { title, address: site.address, ..ZoomText::default() };
        self.above = Above::Zoom { text, target: target.clone() };
        TopAction::Zoom(target)
    }

    fn refresh(&mut self) {
        let shown = self.shown();
        let now = shown.intervals;
        let typing = self.typed.as_deref().map(str::to_lowercase);
        let filter = typing.as_deref().unwrap_or(&self.filter);
        let asked = RowQuestion { kind: self.kind(), by_thread: self.by_thread, filter, now };
        let mut rows =
            shown.events.get(self.event).map_or_else(Vec::new, |it| seen_rows(it, asked));
        self.order.sort(&mut rows, self.is_reversed);
        let is_it = |followed: &SeenRow, row: &SeenRow| {
            (&row.thread, &row.name, &row.place)
                == (&followed.thread, &followed.name, &followed.place)
        };
        let followed = self.followed.as_ref();
        let at = followed.and_then(|followed| rows.iter().position(|row| is_it(followed, row)));
        self.rows = rows;
        self.paging.put(at.unwrap_or(self.paging.at), self.rows.len());
    }
}

/// The routine that a site lies in: by the site's address, which names of
/// routines are not.
fn target(site: &SiteCell) -> RoutineTarget {
    let object = (!site.object.is_empty()).then(|| Glob::new(&*site.object));
    RoutineTarget { what: What::Address(site.address), object }
}

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceState {
    /// What is sampled: a command, a process, a recording.
    pub title: String,
    /// Why no more comes; None: it may.
    pub ended: Option<String>,
    /// Seconds for which nothing was heard of who counts, beyond an interval:
    /// names of large programs are read, and what comes meanwhile waits.
    pub behind: u64,
}
