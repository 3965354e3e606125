//! What stands above the input line: the conversation, read for its last message about a limit, the client's own
//! notices, and a sign of work.

use crate::{
    input::InputLine,
    limit::{Kind, Limit, Moment, Wordings},
    pane::Pane,
    screen::{Line, Screen},
};

/// In more lines than this no message is wrapped.
const MOST_WRAPS: usize = 20;

/// The client's own continuation at a limit, as its notices and its footer tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Native {
    /// It will continue by itself.
    Armed,
    /// The reset is past, it is about to continue.
    Shortly,
    /// It asks for Enter: the machine slept over the reset.
    Stale,
    /// A person, or a changed setting, cancelled it.
    Cancelled,
    /// It stopped after repeated limits.
    GaveUp,
    /// There is none: an older client, or the setting is off.
    Off,
}

impl Native {
    /// Returns the word for answers and logs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Armed => "armed",
            Self::Shortly => "shortly",
            Self::Stale => "stale",
            Self::Cancelled => "cancelled",
            Self::GaveUp => "gave up",
            Self::Off => "off",
        }
    }
}

/// A message about a limit that nothing has followed.
#[derive(Clone, Debug)]
pub(crate) struct Banner {
    /// The message as one line.
    pub(crate) text: String,
    /// What it says.
    pub(crate) limit: Limit,
}

/// The conversation.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// The last message about a limit or an API error, unless the conversation went on.
    pub(crate) banner: Option<Banner>,
    /// What the notices say.
    pub(crate) native: Native,
    /// A turn is running.
    pub(crate) is_working: bool,
    /// A background agent is running.
    pub(crate) has_background: bool,
    /// A list with a marker stands last, above a line that looks like the input line.
    pub(crate) has_marker: bool,
    /// The family of the model in use, if the client's header is on screen.
    pub(crate) model: Option<&'static str>,
    /// Whether the banner stands last, right above the input line.
    pub(crate) is_banner_last: bool,
}

/// How a block of lines begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    /// `●`: an answer, a call, a notice.
    Bullet,
    /// `⎿`: what came of the block above.
    Result,
    /// `❯ `: a prompt.
    Prompt,
    /// `! `: a shell command typed by a person.
    Shell,
    /// `✻`: the line that tells of a running or finished turn.
    Status,
    /// Lines in a box.
    Box,
    /// No mark.
    Plain,
}

#[derive(Clone, Debug)]
struct Block {
    head: Head,
    /// Column of the text, or of the mark.
    indent: usize,
    /// Blank lines stand before it.
    is_apart: bool,
    /// It touches the input line.
    touches: bool,
    /// Something in it is drawn in a colour.
    is_tinted: bool,
    /// A no-break space follows its mark.
    has_no_break_space: bool,
    lines: Vec<Piece>,
}

impl Block {
    /// Begins a block with its first line; `body` is what follows the mark.
    fn new(head: Head, line: &Line, body: &str, is_apart: bool, first: Piece) -> Self {
        Self {
            head,
            indent: line.indent(),
            is_apart,
            touches: false,
            is_tinted: line.is_tinted,
            has_no_break_space: body.chars().take(2).any(|c| c == '\u{a0}'),
            lines: vec![first],
        }
    }
}

/// One line of a block.
#[derive(Clone, Debug)]
struct Piece {
    text: String,
    /// Columns it takes on the screen, with its indent.
    width: usize,
    indent: usize,
    /// At the edge: cut there by the terminal, not wrapped by the interface.
    is_cut: bool,
}

/// Reads the lines above the input line, if there is one.
pub(crate) fn read(
    lines: &[Line],
    input: Option<&InputLine>,
    screen: &Screen,
    pane: &Pane,
    wordings: &Wordings,
    moment: &Moment,
) -> History {
    let mut blocks = blocks(lines, screen.width);
    if let Some(last) = blocks.last_mut() {
        last.touches = input.is_some() && lines.last().is_some_and(|line| !line.is_blank());
    }
    let mut reader = Reader {
        history: History {
            banner: None,
            native: Native::Off,
            is_working: false,
            has_background: false,
            has_marker: false,
            model: model(lines),
            is_banner_last: false,
        },
        width: screen.width,
        is_coloured: screen.is_coloured,
        pane,
        wordings,
        moment,
        // Without a sign of a newer client an unmarked message may be one of an older client.
        is_old_sign: input.is_none_or(|line| line.is_old_sign),
        has_no_break_space: input.is_some_and(|line| line.has_no_break_space),
        before: Before::Nothing,
    };
    for block in &blocks {
        reader.block(block);
    }
    reader.history
}

/// What the block before was, where the next one depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    /// A call, or a shell command: the result right below is its output.
    Call,
    /// A command of the client itself, such as `/model`: no turn.
    Command,
    /// A question of the client about itself.
    Survey,
    /// An answer: what follows may still be its text.
    Answer,
}

struct Reader<'a> {
    history: History,
    width: Option<usize>,
    is_coloured: bool,
    pane: &'a Pane,
    wordings: &'a Wordings,
    moment: &'a Moment,
    is_old_sign: bool,
    has_no_break_space: bool,
    before: Before,
}

impl Reader<'_> {
    fn block(&mut self, block: &Block) {
        let text = joined(&block.lines, self.width);
        let before = std::mem::replace(&mut self.before, Before::Nothing);
        match block.head {
            Head::Prompt => self.prompt(&text),
            Head::Shell => {
                self.goes_on();
                self.before = Before::Call;
            }
            Head::Status => self.status(&text),
            Head::Bullet => self.bullet(block, &text),
            Head::Result => self.result(block, &text, before),
            // The interface's own boxes stand at the edge; a deeper one is drawn by an answer or a file.
            Head::Box => {
                self.message(block, block.indent > 1);
            }
            Head::Plain => self.plain(block, &text, before),
        }
    }

    /// The conversation went on: what was said before about a limit is history.
    fn goes_on(&mut self) {
        self.history.banner = None;
        self.history.is_banner_last = false;
        self.history.native = Native::Off;
        self.history.is_working = false;
        self.history.has_background = false;
        self.history.has_marker = false;
    }

    fn prompt(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if text.starts_with('/') || text.starts_with("Unknown slash command") {
            self.before = Before::Command;
            return;
        }
        self.goes_on();
        if text.starts_with('!') {
            self.before = Before::Call;
        }
    }

    fn status(&mut self, text: &str) {
        if text.starts_with("Waiting for") && text.contains("background") {
            self.history.has_background = true;
        } else {
            self.history.is_working = is_running(text);
        }
    }

    fn bullet(&mut self, block: &Block, text: &str) {
        if let Some(native) = notice(text) {
            // A limit that was met again stands below the notice; what is said of the one before is over.
            if native == Native::Off {
                self.goes_on();
            }
            self.history.native = native;
            self.history.is_banner_last = false;
            return;
        }
        if text.starts_with("How is Claude doing this session") {
            self.before = Before::Survey;
            return;
        }
        if is_of_hooks(text) {
            self.before = Before::Command;
            return;
        }
        self.goes_on();
        if is_call(text) {
            self.before = Before::Call;
            return;
        }
        // Errors of the API are drawn as answers; limits never are, so such an answer quotes one.
        self.message(block, true);
        self.before = Before::Answer;
    }

    fn result(&mut self, block: &Block, text: &str, before: Before) {
        if before == Before::Call && !block.is_apart {
            self.goes_on();
            return;
        }
        if self.history.is_working
            || text.starts_with("Tip:")
            || text.starts_with("Queued")
            || is_of_hooks(text)
        {
            return;
        }
        // An answer that draws the interface writes plain blanks after the mark, the interface does not.
        let may_quote = before == Before::Answer && self.has_no_break_space && !block.has_no_break_space;
        if !self.message(block, may_quote) && before != Before::Command {
            self.goes_on();
        }
    }

    fn plain(&mut self, block: &Block, text: &str, before: Before) {
        if before == Before::Survey || self.history.is_working {
            return;
        }
        if block.indent > 0 && is_marked_row(text) {
            self.history.has_marker = true;
            return;
        }
        // The line right above the input line belongs to the interface: hints and warnings come and go there.
        if block.touches && block.indent > 0 {
            return;
        }
        if is_task(text) {
            return;
        }
        if !self.message(block, true) {
            self.goes_on();
        }
        if before == Before::Answer {
            self.before = Before::Answer;
        }
    }

    /// Takes a message about a limit. `may_quote`: text of the model can look like this, so a limit needs the client's
    /// own word for it, or a client whose limits are drawn so.
    fn message(&mut self, block: &Block, may_quote: bool) -> bool {
        let Some(banner) = self.banner(block) else { return false };
        let is_limit = matches!(banner.limit.kind, Kind::UsageLimit | Kind::ModelLimit | Kind::Billing);
        let is_old_drawing = block.head == Head::Plain && self.is_old_sign;
        // The interface draws its errors in a colour; what it quotes it does not.
        let is_uncoloured = self.is_coloured && !block.is_tinted;
        if is_limit && ((may_quote && !is_old_drawing) || is_uncoloured) && !self.is_told(&banner) {
            return false;
        }
        let native = match self.history.native {
            // It stands above the banner that made it give up.
            Native::GaveUp => Native::GaveUp,
            _ => Native::Off,
        };
        self.goes_on();
        self.history.native = native;
        self.history.banner = Some(banner);
        self.history.is_banner_last = true;
        true
    }

    fn is_told(&self, banner: &Banner) -> bool {
        let told = self.pane.main_failure().and_then(|failure| failure.last_assistant_message.as_deref());
        told.is_some_and(|told| same_text(told, &banner.text))
    }

    /// Reads the longest beginning of the lines that is a whole message; the interface puts a line of advice below.
    fn banner(&self, block: &Block) -> Option<Banner> {
        let lines = &block.lines[..];
        // Results are wrapped at the edge, answers and notices up to a fifth before it.
        let room = self.width.map(|width| match block.head {
            Head::Result => width.saturating_sub(2),
            _ => width * 4 / 5,
        });
        for count in (1..=lines.len().min(MOST_WRAPS)).rev() {
            if count < lines.len() && !ends_by_itself(lines, count, room) {
                continue;
            }
            let text = joined(&lines[..count], self.width);
            let text = text.trim_start_matches(['⚠', '✗', '✘', '!', ' ']).trim();
            if text.chars().count() > 600 || is_notice_like(text) {
                continue;
            }
            if let Some(limit) = self.wordings.banner(text, self.moment)
                && is_whole(text, limit.kind)
            {
                return Some(Banner { text: text.to_owned(), limit });
            }
        }
        None
    }
}

/// Compares two messages as words: wrapping and blanks are the interface's.
pub(crate) fn same_text(one: &str, other: &str) -> bool {
    let words = |text: &str| -> String {
        text.chars().filter(|c| !c.is_whitespace()).map(|c| if c == '’' { '\'' } else { c }).collect()
    };
    words(one) == words(other)
}

/// Whether lines `count` and `count + 1` are separate: a command stands there, or its first word had had room.
fn ends_by_itself(lines: &[Piece], count: usize, room: Option<usize>) -> bool {
    let (last, next) = (&lines[count - 1], &lines[count]);
    if is_advice(&next.text) {
        return true;
    }
    let word = next.text.split(' ').next().unwrap_or_default().chars().count();
    room.is_some_and(|room| !next.is_cut && last.width + 1 + word <= room)
}

/// Lines that the interface puts below a message.
fn is_advice(text: &str) -> bool {
    const COMMANDS: [&str; 6] =
        ["/upgrade", "/usage-credits", "/extra-usage", "/rate-limit-options", "/login", "/model"];
    COMMANDS.iter().any(|command| text.starts_with(command)) || text.to_lowercase().starts_with("continuing")
}

/// Returns whether a message ends where its wording ends: prose that only begins with it goes on.
fn is_whole(text: &str, kind: Kind) -> bool {
    if !matches!(kind, Kind::UsageLimit | Kind::ModelLimit) {
        return true;
    }
    if text.contains(['"', '`', '{', '}', '=', '<', '>', '“', '”', '«', '»']) {
        return false;
    }
    let mut parts = text.split(['·', '∙', '•']).map(str::trim).filter(|part| !part.is_empty());
    let Some(first) = parts.next() else { return false };
    time_of(first).map_or_else(|| is_name_of_limit(first), is_time)
        && parts.all(|part| time_of(part).is_none_or(is_time))
}

/// What follows the last `resets` of a part.
fn time_of(part: &str) -> Option<&str> {
    let lower = part.to_ascii_lowercase();
    ["resets", "reset"]
        .iter()
        .filter_map(|word| lower.rfind(&format!("{word} ")).map(|at| at + word.len() + 1))
        .max()
        .map(|at| &part[at..])
}

/// Words that a time is made of.
fn is_time(text: &str) -> bool {
    const WORDS: [&str; 25] = [
        "at", "in", "on", "and", "the", "am", "pm", "a.m", "p.m", "today", "tonight", "tomorrow", "noon",
        "midnight", "utc", "gmt", "hour", "hours", "minute", "minutes", "min", "h", "m", "day", "days",
    ];
    const NAMES: [&str; 19] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "mon", "tue",
        "wed", "thu", "fri", "sat", "sun",
    ];
    let mut is_in_brackets = false;
    text.split_whitespace().all(|word| {
        is_in_brackets |= word.starts_with(['(', '[']);
        let is_inside = is_in_brackets;
        is_in_brackets &= !word.trim_end_matches('.').ends_with([')', ']']);
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
        is_inside
            || bare.is_empty()
            || bare.contains(|c: char| c.is_ascii_digit())
            || WORDS.contains(&bare.as_str())
            || NAMES.iter().any(|name| bare.len() <= 9 && bare.starts_with(name))
            || (word.contains('/') && !word.starts_with('/'))
    })
}

/// `You've hit your 5-hour limit`: the name ends it.
fn is_name_of_limit(text: &str) -> bool {
    const ENDS: [&str; 11] = [
        "limit",
        "limits",
        "reached",
        "budget",
        "credits",
        "usage",
        "cap",
        "quota",
        "allocation",
        "exceeded",
        "exhausted",
    ];
    let mut sentences = text.split(['.', '|', '(']).map(str::trim);
    let first = sentences.next().unwrap_or_default();
    let last = first.rsplit(' ').next().unwrap_or_default().trim_matches(|c: char| !c.is_alphanumeric());
    !first.contains(',')
        && first.split(' ').count() <= 12
        && ENDS.iter().any(|end| last.eq_ignore_ascii_case(end))
}

/// `Ran 1 stop hook`, `Stop hook error: ...`: what hooks did after the turn had ended.
fn is_of_hooks(text: &str) -> bool {
    let beginning: String = text.chars().take(40).collect::<String>().to_lowercase();
    beginning.contains(" hook") && (beginning.starts_with("ran ") || beginning.starts_with("stop"))
}

/// The list of tasks, which stays while the client is idle.
fn is_task(text: &str) -> bool {
    let mut words = text.split(' ');
    let counts = words.next().is_some_and(|word| word.parse::<u32>().is_ok())
        && words.next().is_some_and(|word| matches!(word, "task" | "tasks"));
    counts || text.starts_with(['◼', '◻', '☐', '☒', '☑', '□', '■'])
}

/// The client's notices about its own continuation. `Off` here: it went on.
fn notice(text: &str) -> Option<Native> {
    let lower = text.to_lowercase();
    let begins = |start: &str| lower.starts_with(start);
    if begins("usage limit reset ·") || begins("usage limit reset, ") {
        Some(Native::Off)
    } else if begins("usage limit has reset") {
        Some(Native::Stale)
    } else if begins("usage limit reached") && lower.contains("automatically") {
        Some(Native::Armed)
    } else if begins("automatic continue cancelled")
        || begins("automatic continue canceled")
        || begins("automatic continue was turned off")
    {
        Some(Native::Cancelled)
    } else if begins("automatic continue stopped") {
        Some(Native::GaveUp)
    } else {
        None
    }
}

fn is_notice_like(text: &str) -> bool {
    notice(text).is_some()
}

/// `Bash(cargo test)`, `docs - search (MCP)(query: "x")`.
fn is_call(text: &str) -> bool {
    let Some(open) = text.find('(') else { return false };
    let name = &text[..open];
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.'))
    };
    is_name(name) || text[open..].starts_with("(MCP)")
}

/// `Verb…`, `Verb… (12s · ↓ 20 tokens)`, `529 Overloaded · retrying in 31s · attempt 8/10`.
fn is_running(text: &str) -> bool {
    let lower = text.to_lowercase();
    let ellipsis = text.find('…').filter(|&at| text[..at].chars().count() <= 80).is_some_and(|at| {
        let after = text[at + '…'.len_utf8()..].trim_start();
        after.is_empty() || after.starts_with(['(', '·'])
    });
    ellipsis || lower.contains("esc to interrupt") || lower.contains("retrying in")
}

/// `❯ 1. Yes` with something before it: no prompt of the history stands there.
fn is_marked_row(text: &str) -> bool {
    let Some(row) = text.strip_prefix(['❯', '›', '▶', '▸']) else { return false };
    let row = row.trim_start();
    let digits = row.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && row[digits..].starts_with(['.', ')'])
}

/// The family in the client's header, `Sonnet 5.5 · Claude API`.
fn model(lines: &[Line]) -> Option<&'static str> {
    let title = lines.iter().position(|line| line.text.contains("Claude Code v"))?;
    lines[title..].iter().take(10).find_map(|line| {
        let (name, _) = line.text.split_once(" · ")?;
        let words: Vec<&str> = name.split_whitespace().rev().take(2).collect();
        let [version, family] = words[..] else { return None };
        let is_version = version.chars().all(|c| c.is_ascii_digit() || c == '.');
        is_version.then(|| rules::model::family(family)).flatten()
    })
}

/// Joins what the interface or the terminal wrapped.
fn joined(lines: &[Piece], width: Option<usize>) -> String {
    let mut text = String::new();
    let mut before = 0;
    for line in lines {
        let is_cut_in_word = line.is_cut && line.indent == 0 && width.is_some_and(|width| before >= width);
        if !text.is_empty() && !is_cut_in_word {
            text.push(' ');
        }
        text.push_str(&line.text);
        before = line.width;
    }
    text
}

/// Splits the lines into blocks.
fn blocks(lines: &[Line], width: Option<usize>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_apart = true;
    let mut is_open = false;
    for line in lines {
        let boxed = line.unboxed();
        if line.is_blank()
            || line.is_rule()
            || line.is_panel_edge()
            || line.is_box_top()
            || line.is_box_bottom()
        {
            (is_apart, is_open) = (true, false);
            continue;
        }
        if let Some(inner) = boxed {
            if inner.is_blank() {
                (is_apart, is_open) = (true, false);
                continue;
            }
            let piece = Piece { text: plain(&inner.text), width: 0, is_cut: false, indent: 0 };
            match blocks.last_mut() {
                Some(block) if is_open && block.head == Head::Box => block.lines.push(piece),
                _ => blocks.push(Block::new(Head::Box, line, "", is_apart, piece)),
            }
            (is_apart, is_open) = (false, true);
            continue;
        }
        let (head, body) = head(line);
        let indent = line.indent();
        let last = blocks.last_mut().filter(|_| is_open);
        // Cut at the edge by the terminal; a blank there is either swallowed or begins the next line.
        let is_cut = last.as_ref().and_then(|block| block.lines.last()).is_some_and(|last| {
            width.is_some_and(|width| {
                last.width <= width && last.width + usize::from(indent == 0) >= width && indent <= 1
            })
        });
        let piece =
            Piece { text: plain(body), width: line.width(), is_cut: is_cut && head == Head::Plain, indent };
        match last {
            Some(block)
                if head == Head::Plain
                    && block.head != Head::Box
                    && (piece.is_cut || indent > block.indent) =>
            {
                block.lines.push(piece);
            }
            Some(block) if head == Head::Plain && block.head == Head::Plain && indent == block.indent => {
                block.lines.push(piece);
            }
            _ => blocks.push(Block::new(head, line, body, is_apart, piece)),
        }
        (is_apart, is_open) = (false, true);
    }
    blocks
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads the mark a line begins with; what the model writes is indented, so a mark deeper than the interface's own is
/// text.
fn head(line: &Line) -> (Head, &str) {
    let body = line.body();
    let indent = line.indent();
    let mut rest = body.chars();
    let Some(mark) = rest.next() else { return (Head::Plain, body) };
    let rest = rest.as_str();
    let is_mark = rest.is_empty() || rest.starts_with(char::is_whitespace);
    match mark {
        '●' | '⏺' if indent <= 1 && is_mark => (Head::Bullet, rest),
        '⎿' if indent <= 3 => (Head::Result, rest),
        '❯' | '>' if indent == 0 && is_mark => (Head::Prompt, rest),
        '!' if indent == 0 && is_mark => (Head::Shell, rest),
        '✻' | '✽' | '✶' | '✢' | '✳' | '∗' | '*' | '·' | '+' if indent <= 1 && is_mark => {
            let text = rest.trim_start();
            let is_status = is_running(text) || !matches!(mark, '*' | '·' | '+');
            if is_status { (Head::Status, rest) } else { (Head::Plain, body) }
        }
        _ => (Head::Plain, body),
    }
}
