//! A captured pane as lines of text: escapes read, blank ends cut, boxes opened.

/// More lines than any terminal shows; what is above says nothing about now.
const MOST_LINES: usize = 400;
/// Longer lines are no terminal's.
const LONGEST_LINE: usize = 2_000;

/// One line of the screen, without escapes and without blanks at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// The characters. A no-break space at the end stays: it marks the live input line.
    pub(crate) text: String,
    /// For each character: is it drawn dim or grey, as hints are.
    pub(crate) faint: Vec<bool>,
    /// Something on the line is drawn in a colour.
    pub(crate) is_tinted: bool,
}

impl Line {
    /// Returns whether nothing is on the line.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Number of blanks before the first character.
    pub(crate) fn indent(&self) -> usize {
        self.text.chars().take_while(|c| c.is_whitespace()).count()
    }

    /// Returns the text without blanks around it.
    pub(crate) fn body(&self) -> &str {
        self.text.trim()
    }

    /// Columns up to the last character.
    pub(crate) fn width(&self) -> usize {
        self.text.chars().map(columns).sum()
    }

    /// Returns whether the line is a rule over the pane's width, perhaps with a few words in it.
    pub(crate) fn is_rule(&self) -> bool {
        let strokes = self.text.chars().filter(|&c| c == '─').count();
        self.text.starts_with("───") && strokes >= 8 && 2 * strokes >= self.text.chars().count()
    }

    /// Returns whether the line is the upper edge of a panel that covers the lower part of the screen.
    pub(crate) fn is_panel_edge(&self) -> bool {
        self.text.starts_with("▔▔▔")
    }

    /// Returns the line of a box without its sides.
    pub(crate) fn unboxed(&self) -> Option<Self> {
        let sides = ['│', '┃', '║'];
        let body = self.body();
        let inner = body.strip_prefix(sides)?.strip_suffix(sides)?;
        let start = self.indent() + 1;
        let text = inner.trim_end_matches(' ').to_owned();
        let faint = self.faint.iter().copied().skip(start).take(text.chars().count()).collect();
        Some(Self { text, faint, is_tinted: self.is_tinted })
    }

    /// Returns whether the line is the upper side of a box.
    pub(crate) fn is_box_top(&self) -> bool {
        self.body().starts_with(['╭', '┌', '┏', '╔'])
    }

    /// Returns whether the line is the lower side of a box.
    pub(crate) fn is_box_bottom(&self) -> bool {
        self.body().starts_with(['╰', '└', '┗', '╚']) && self.body().ends_with(['╯', '┘', '┛', '╝'])
    }
}

/// A captured pane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Screen {
    /// The lines down to the last that is not blank.
    pub(crate) lines: Vec<Line>,
    /// Whether the capture has colours or other attributes.
    pub(crate) is_styled: bool,
    /// Whether the capture has colours.
    pub(crate) is_coloured: bool,
    /// Columns: of the pane, else of its widest rule.
    pub(crate) width: Option<usize>,
}

impl Screen {
    /// Reads what `capture-pane -p` printed, with or without `-e`. Any text is accepted.
    pub(crate) fn read(text: &str, width: Option<usize>) -> Self {
        let end = text.trim_end_matches([' ', '\n', '\r', '\t']);
        // A no-break space at the very end belongs to an input line, so only plain blanks are cut.
        let start = end.rmatch_indices('\n').nth(MOST_LINES - 1).map_or(0, |(at, _)| at + 1);
        let mut pen = Pen::default();
        let mut lines: Vec<Line> = end[start..].split('\n').map(|line| pen.line(line)).collect();
        while lines.last().is_some_and(|line| line.text.is_empty()) {
            lines.pop();
        }
        let rules = lines.iter().filter(|line| line.is_rule() || line.is_panel_edge()).map(Line::width);
        let width = width.filter(|&columns| columns > 0).or_else(|| rules.max());
        Self { is_coloured: lines.iter().any(|line| line.is_tinted), lines, is_styled: pen.is_used, width }
    }
}

/// The attributes that hold at a place of the text; tmux carries them over the ends of lines.
#[derive(Debug, Default)]
struct Pen {
    is_dim: bool,
    is_grey: bool,
    is_tinted: bool,
    is_drawing: bool,
    is_used: bool,
}

impl Pen {
    fn line(&mut self, raw: &str) -> Line {
        let mut line = Line::default();
        let mut rest = raw.chars();
        let mut count = 0;
        while let Some(c) = rest.next() {
            let c = match c {
                '\u{1b}' => {
                    self.escape(&mut rest);
                    continue;
                }
                '\u{9b}' => {
                    self.sequence(&mut rest);
                    continue;
                }
                '\u{e}' => {
                    self.is_drawing = true;
                    continue;
                }
                '\u{f}' => {
                    self.is_drawing = false;
                    continue;
                }
                '\t' => ' ',
                _ if is_invisible(c) => continue,
                _ if self.is_drawing => drawn(c),
                _ => c,
            };
            count += 1;
            if count > LONGEST_LINE {
                break;
            }
            line.text.push(c);
            line.faint.push(self.is_dim || self.is_grey);
            line.is_tinted |= self.is_tinted && !c.is_whitespace();
        }
        line.text.truncate(line.text.trim_end_matches(' ').len());
        line.faint.truncate(line.text.chars().count());
        line
    }

    fn escape(&mut self, rest: &mut std::str::Chars<'_>) {
        let mut ahead = rest.clone();
        match ahead.next() {
            Some('[') => {
                *rest = ahead;
                self.sequence(rest);
            }
            // Titles and links, up to BEL or ST; an unfinished one ends with its line.
            Some(']' | 'P' | 'X' | '^' | '_') => {
                *rest = ahead;
                while let Some(c) = rest.next() {
                    match c {
                        '\u{7}' | '\u{9c}' => return,
                        '\u{1b}' => {
                            if rest.as_str().starts_with('\\') {
                                rest.next();
                            }
                            return;
                        }
                        _ => {}
                    }
                }
            }
            // The character set: `ESC ( B`.
            Some('(' | ')' | '*' | '+' | '#' | '%') => {
                ahead.next();
                *rest = ahead;
            }
            Some(_) => *rest = ahead,
            None => {}
        }
    }

    fn sequence(&mut self, rest: &mut std::str::Chars<'_>) {
        let mut parameters = String::new();
        for c in rest.by_ref() {
            match c {
                '\u{40}'..='\u{7e}' => {
                    if c == 'm' {
                        self.paint(&parameters);
                    }
                    return;
                }
                '\u{20}'..='\u{3f}' => parameters.push(c),
                _ => return,
            }
        }
    }

    fn paint(&mut self, parameters: &str) {
        self.is_used = true;
        let mut codes = parameters.split([';', ':']).map(|code| code.parse::<u32>().unwrap_or(0));
        while let Some(code) = codes.next() {
            match code {
                0 => (self.is_dim, self.is_grey, self.is_tinted) = (false, false, false),
                2 => self.is_dim = true,
                22 => self.is_dim = false,
                38 => {
                    let colour = colour(&mut codes);
                    self.is_grey = colour.is_some_and(is_grey);
                    self.is_tinted = colour.is_some_and(is_tint);
                }
                48 => {
                    colour(&mut codes);
                }
                90 => (self.is_grey, self.is_tinted) = (true, false),
                31..=36 | 91..=96 => (self.is_grey, self.is_tinted) = (false, true),
                30 | 37 | 39 | 97 => (self.is_grey, self.is_tinted) = (false, false),
                _ => {}
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Colour {
    Indexed(u32),
    Mixed(u32, u32, u32),
}

fn colour(codes: &mut impl Iterator<Item = u32>) -> Option<Colour> {
    match codes.next()? {
        5 => Some(Colour::Indexed(codes.next()?)),
        2 => Some(Colour::Mixed(codes.next()?, codes.next()?, codes.next()?)),
        _ => None,
    }
}

/// The greys in which the client draws what is not content; white is the colour of content.
fn is_grey(colour: Colour) -> bool {
    match colour {
        Colour::Indexed(index) => matches!(index, 8 | 238..=249),
        Colour::Mixed(red, green, blue) => red == green && green == blue && (60..=190).contains(&red),
    }
}

/// Neither black, white nor grey.
fn is_tint(colour: Colour) -> bool {
    match colour {
        Colour::Indexed(index) => !matches!(index, 0 | 7 | 8 | 15 | 16 | 231 | 232..),
        Colour::Mixed(red, green, blue) => red != green || green != blue,
    }
}

/// Line-drawing characters of the alternate character set.
fn drawn(c: char) -> char {
    match c {
        'q' => '─',
        'x' => '│',
        'l' => '╭',
        'k' => '╮',
        'm' => '╰',
        'j' => '╯',
        _ => c,
    }
}

/// Control characters, marks of direction, joiners and variation selectors take no column and say nothing.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// Columns of a character: 2 for the wide ones of East Asia and for pictures, 0 for combining marks.
fn columns(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36f | 0x20d0..=0x20ff | 0x1f3fb..=0x1f3ff => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(raw: &str) -> Vec<String> {
        Screen::read(raw, None).lines.into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn blanks_at_the_end_are_cut_and_the_mark_of_the_input_line_stays() {
        assert_eq!(texts("a  \n\nb\u{a0} \n \n\n"), ["a", "", "b\u{a0}"]);
        assert_eq!(texts(""), [""; 0]);
        assert_eq!(texts(" \n \n"), [""; 0]);
    }

    #[test]
    fn escapes_say_what_is_faint_over_the_ends_of_lines() {
        let screen =
            Screen::read("\u{1b}[2mone\ntwo\u{1b}[0m!\n\u{1b}[38;5;246mgrey\u{1b}[38;5;231mwhite", None);
        assert!(screen.is_styled);
        let faint: Vec<String> = screen
            .lines
            .iter()
            .map(|line| {
                line.text.chars().zip(&line.faint).filter(|(_, faint)| **faint).map(|(c, _)| c).collect()
            })
            .collect();
        assert_eq!(faint, ["one", "two", "grey"]);
        assert_eq!(
            texts("\u{1b}]8;;http://a\u{7}link\u{1b}]8;;\u{1b}\\ \u{1b}(Bx \u{e}qqq\u{f}q"),
            ["link x ───q"]
        );
        assert!(!Screen::read("plain", None).is_styled);
    }

    #[test]
    fn colours_are_told_from_white_and_grey() {
        let tinted =
            |raw: &str| Screen::read(raw, None).lines.iter().map(|line| line.is_tinted).collect::<Vec<_>>();
        assert_eq!(
            tinted(
                "\u{1b}[38;5;211mred\n\u{1b}[39mplain\n\u{1b}[38;5;231mwhite\n\u{1b}[31ma\u{1b}[0m\n\u{1b}[90mgrey\n\u{1b}[38;2;9;9;8mb"
            ),
            [true, false, false, true, false, true]
        );
        assert!(Screen::read("\u{1b}[33mx", None).is_coloured);
        assert!(!Screen::read("\u{1b}[1;7mx", None).is_coloured, "no colours were wanted");
    }

    #[test]
    fn marks_that_take_no_column_are_dropped() {
        assert_eq!(texts("a\u{202e}b\u{200b}c\u{fe0f}\r"), ["abc"]);
    }

    #[test]
    fn a_rule_begins_at_the_edge_and_may_hold_some_words() {
        let rule = |text: &str| Screen::read(text, None).lines[0].is_rule();
        assert!(rule(&"─".repeat(8)));
        assert!(!rule(&"─".repeat(7)));
        assert!(rule(&format!("{} my session ──", "─".repeat(20))));
        assert!(!rule(&format!(" {}", "─".repeat(20))));
        assert!(!rule("──────── a long text with a short rule before it"));
    }

    #[test]
    fn boxes_are_opened() {
        let line = |text: &str| Screen::read(text, None).lines[0].clone();
        assert_eq!(line("│ > go   │").unboxed().unwrap().text, " > go");
        assert_eq!(line("  │ a │").unboxed().unwrap().text, " a");
        assert_eq!(line("│ open").unboxed(), None);
        assert_eq!(line("│").unboxed(), None);
    }

    #[test]
    fn wide_characters_count_twice() {
        let width = |text: &str| Screen::read(text, None).lines[0].width();
        assert_eq!((width("abc"), width("続行"), width("e\u{301}"), width("🚀")), (3, 4, 1, 2));
    }

    #[test]
    fn the_width_is_the_panes_else_that_of_a_rule() {
        let text = format!("a\n{}", "─".repeat(30));
        assert_eq!(Screen::read(&text, None).width, Some(30));
        assert_eq!(Screen::read(&text, Some(44)).width, Some(44));
        assert_eq!(Screen::read("a", None).width, None);
    }
}
