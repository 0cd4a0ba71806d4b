//! Columns and rows.

use crate::cell::Cell;
use std::borrow::Cow;

/// On which side of its column a cell is filled up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Names: one that is too wide loses its middle.
    Left,
    /// What is never cut.
    Whole,
    /// Numbers.
    Right,
}

/// What a column is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The object of JSON that it is in, which CSV puts before its name; or none. People are
    /// shown the columns of a group where a row has a value in one of them.
    pub group: &'static str,
    /// For programs; without one it is not shown to them.
    pub name: Cow<'static, str>,
    /// For people; the same.
    pub heading: Cow<'static, str>,
    /// Where its cells stand.
    pub align: Align,
    /// Whether CSV has it, too, where JSON has.
    pub is_in_csv: bool,
}

impl Head {
    /// For people, of what such a side has.
    pub fn new(align: Align, heading: impl Into<Cow<'static, str>>) -> Head {
        let heading = heading.into();
        Head { group: "", name: Cow::Borrowed(""), heading, align, is_in_csv: true }
    }

    /// Of names, for people.
    pub fn left(heading: impl Into<Cow<'static, str>>) -> Head {
        Head::new(Align::Left, heading)
    }

    /// Of what is never cut, for people.
    pub fn whole(heading: impl Into<Cow<'static, str>>) -> Head {
        Head::new(Align::Whole, heading)
    }

    /// Of numbers, for people.
    pub fn number(heading: impl Into<Cow<'static, str>>) -> Head {
        Head::new(Align::Right, heading)
    }

    /// For programs alone.
    pub fn program(name: impl Into<Cow<'static, str>>) -> Head {
        Head::new(Align::Left, "").called(name)
    }

    const fn of_both(
        group: &'static str,
        name: &'static str,
        heading: &'static str,
        align: Align,
    ) -> Head {
        let (name, heading) = (Cow::Borrowed(name), Cow::Borrowed(heading));
        Head { group, name, heading, align, is_in_csv: true }
    }

    /// Programs have it, too.
    #[must_use]
    pub fn called(self, name: impl Into<Cow<'static, str>>) -> Head {
        Head { name: name.into(), ..self }
    }

    /// It is there where a row has a value in the group.
    #[must_use]
    pub fn of_group(self, group: &'static str) -> Head {
        Head { group, ..self }
    }
}

/// A column of all tables whose rows are made of such data: what it is called, and what a
/// row has there. None: the row is of no such group.
#[derive(Debug)]
pub struct Column<R> {
    /// What it is called.
    pub head: Head,
    /// The value.
    pub value: for<'r> fn(&'r R) -> Option<Cell<'r>>,
}

impl<R> Column<R> {
    /// A number that each row has.
    pub const fn number(
        name: &'static str,
        heading: &'static str,
        value: for<'r> fn(&'r R) -> Option<Cell<'r>>,
    ) -> Column<R> {
        Column::of_group("", name, heading, value)
    }

    /// What is never cut, and each row has.
    pub const fn whole(
        name: &'static str,
        heading: &'static str,
        value: for<'r> fn(&'r R) -> Option<Cell<'r>>,
    ) -> Column<R> {
        Column { head: Head::of_both("", name, heading, Align::Whole), value }
    }

    /// A number that rows have which have its group.
    pub const fn of_group(
        group: &'static str,
        name: &'static str,
        heading: &'static str,
        value: for<'r> fn(&'r R) -> Option<Cell<'r>>,
    ) -> Column<R> {
        Column { head: Head::of_both(group, name, heading, Align::Right), value }
    }

    /// What programs alone are shown.
    pub const fn program(
        name: &'static str,
        value: for<'r> fn(&'r R) -> Option<Cell<'r>>,
    ) -> Column<R> {
        Column::of_group("", name, "", value)
    }

    /// JSON alone has it.
    pub const fn in_json(
        name: &'static str,
        value: for<'r> fn(&'r R) -> Option<Cell<'r>>,
    ) -> Column<R> {
        let (name, heading) = (Cow::Borrowed(name), Cow::Borrowed(""));
        let head = Head { group: "", name, heading, align: Align::Right, is_in_csv: false };
        Column { head, value }
    }

    /// What a row has there; nothing where it is of no such group.
    pub fn cell<'r>(&self, row: &'r R) -> Cell<'r> {
        (self.value)(row).unwrap_or(Cell::Nothing)
    }
}

/// Rows of cells, as many as there are columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table<'t> {
    /// What the rows are of.
    pub caption: String,
    /// What the columns are called.
    pub heads: Vec<Head>,
    /// Their cells.
    pub rows: Vec<Vec<Cell<'t>>>,
    /// What is not there, in words.
    pub foot: Option<String>,
}

impl<'t> Table<'t> {
    /// Without rows.
    pub fn new(caption: impl Into<String>, heads: impl Into<Vec<Head>>) -> Table<'t> {
        Table { caption: caption.into(), heads: heads.into(), ..Table::default() }
    }

    /// A row of each thing, with what the columns have of it.
    pub fn of<R: Copy>(
        caption: impl Into<String>,
        rows: impl IntoIterator<Item = R>,
        columns: &[(Head, &dyn Fn(R) -> Cell<'t>)],
    ) -> Table<'t> {
        let heads: Vec<Head> = columns.iter().map(|(head, _)| head.clone()).collect();
        let mut table = Table::new(caption, heads);
        let cells = |row| columns.iter().map(|(_, value)| value(row)).collect();
        table.rows.extend(rows.into_iter().map(cells));
        table
    }

    /// Columns that people are shown.
    pub(crate) fn shown(&self) -> Vec<(usize, &Head)> {
        let has_group = |group: &str| {
            let of_group = self.heads.iter().enumerate().filter(|(_, head)| head.group == group);
            let mut places = of_group.map(|(at, _)| at);
            places.any(|at| self.rows.iter().any(|row| row.get(at).is_some_and(Cell::is_there)))
        };
        let is_shown = |head: &Head| {
            !head.heading.is_empty() && (head.group.is_empty() || has_group(head.group))
        };
        self.heads.iter().enumerate().filter(|(_, head)| is_shown(head)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CsvNames, CsvTable, HtmlText, row_entries};
    use serde::ser::{SerializeMap, Serializer};

    struct Counted {
        count: u64,
        each: f64,
        cycles: Option<u64>,
    }

    fn json(columns: &[Column<Counted>], row: &Counted) -> String {
        let mut bytes = Vec::new();
        let mut map = serde_json::Serializer::new(&mut bytes);
        let mut map = map.serialize_map(None).unwrap();
        row_entries(columns, row, &mut map).unwrap();
        map.end().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// docs/first-column.md: an entry more in the list, and nothing else.
    #[test]
    fn a_column_is_in_all_forms() {
        let mut columns: Vec<Column<Counted>> = vec![
            Column::number("count", "count", |row| Some(Cell::Count(row.count))),
            Column::of_group("latency", "cycles", "cycles", |row| {
                Some(row.cycles.map_or(Cell::Nothing, Cell::Count))
            }),
        ];
        columns.insert(1, Column::number("mean_period", "each", |row| Some(Cell::Mean(row.each))));
        let rows = [
            Counted { count: 4, each: 2.5, cycles: Some(30) },
            Counted { count: 1, each: 1.0, cycles: None },
        ];
        let heads: Vec<Head> = columns.iter().map(|column| column.head.clone()).collect();
        let cells = |row| columns.iter().map(|column| column.cell(row)).collect();
        let mut table = Table::new("counted", heads.clone());
        table.rows.extend(rows.iter().map(cells));
        let text = "count  each  cycles\n    4   2.5      30\n    1   1.0       -\n";
        assert_eq!(table.text(None, false), text);
        let mut csv = Vec::new();
        let mut out = CsvTable::new(heads, CsvNames::Exact, &mut csv);
        out.head().unwrap();
        rows.iter().for_each(|row| out.row(cells(row)).unwrap());
        drop(out);
        let written = "count,mean_period,latency_cycles\n4,2.500,30\n1,1.000,\n";
        assert_eq!(String::from_utf8(csv).unwrap(), written);
        let [first, second] = rows.each_ref().map(|row| json(&columns, row));
        assert_eq!(first, r#"{"count":4,"mean_period":2.5,"latency":{"cycles":30}}"#);
        assert_eq!(second, r#"{"count":1,"mean_period":1.0,"latency":null}"#);
        let mut html = HtmlText::default();
        table.html(&mut html);
        let html = html.into_text();
        assert!(html.contains("<th scope=\"col\" class=\"n\">each</th>"), "{html}");
        assert!(html.contains("<td class=\"n\">4</td><td class=\"n\">2.5</td>"), "{html}");
    }

    #[test]
    fn a_group_without_values_is_not_shown_to_people() {
        let heads = [Head::left("name"), Head::number("cycles").of_group("latency")];
        let mut table = Table::new("", heads);
        table.rows.push(vec![Cell::name("x"), Cell::Nothing]);
        assert_eq!(table.text(None, false), "name\nx\n");
        table.rows.push(vec![Cell::name("y"), Cell::Count(7)]);
        assert_eq!(table.text(None, false), "name  cycles\nx          -\ny          7\n");
    }
}
