//! Keys, as far as the view tells them apart.

/// A key, with or without Shift and Alt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopKey {
    /// A letter, a digit, a sign.
    Char(char),
    /// Ctrl with a letter.
    Control(char),
    /// One line or row up.
    Up,
    /// One line or row down.
    Down,
    /// The arrow to the left.
    Left,
    /// The arrow to the right.
    Right,
    PageUp,
    PageDown,
    /// The first line or row.
    Home,
    /// The last line or row.
    End,
    Tab,
    /// Shift+Tab.
    BackTab,
    Enter,
    Esc,
    /// The key that deletes to the left.
    Backspace,
    /// One that means nothing but that a key was pressed.
    Other,
}
