//! Which other tool does the job: the project's `fallback-tools.md`, then a built-in table.
//!
//! People write that file by hand, as a Markdown table or a list, in Chinese or English; programs of others write it
//! too. Read leniently, shown strictly: a replacement is only ever shown in the form of a tool name.

use crate::bash;
use crate::text::one_line;

/// The longest difference that is shown, in characters.
pub const MAX_DIFFERENCE: usize = 80;
/// The longest replacement that is shown, in characters.
const MAX_REPLACEMENT: usize = 100;

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The tool it is for, such as `mcp__pages__grab` or `Bash`; a trailing `*` stands for any end.
    pub tool: String,
    /// For `Bash(npm test)`: the beginning of the commands it is for.
    pub prefix: Option<String>,
    /// The tool that does the job, such as `WebFetch` or `Bash(psql)`.
    pub replacement: String,
    /// What it cannot do, one line of at most [`MAX_DIFFERENCE`] characters; may be empty.
    pub difference: String,
}

/// The rows of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FallbackTable {
    rows: Vec<Row>,
}

impl FallbackTable {
    /// Reads the rows of a Markdown text, tables and lists; what is neither is passed over.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut rows = Vec::new();
        let mut columns = Columns::default();
        let mut lines = Lines::of(text).peekable();
        let mut in_table = false;
        while let Some(line) = lines.next() {
            let opens =
                !in_table && line.contains('|') && lines.peek().is_some_and(|next| is_delimiter(next));
            if opens {
                columns = Columns::named(&cells(line));
                in_table = true;
                lines.next();
            } else if line.trim().is_empty() {
                in_table = false;
            } else if in_table || line.trim_start().starts_with('|') {
                if !is_delimiter(line) {
                    // A table whose heading is missing is read by position.
                    let at = if in_table { columns } else { Columns::default() };
                    rows.extend(at.row(&cells(line)));
                }
            } else if let Some(item) = list_item(line) {
                rows.extend(list_row(item));
            }
        }
        Self { rows }
    }

    /// All rows, in the file's order.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row of a tool: its very name first, then a row for its server. Never a part of a name.
    #[must_use]
    pub fn for_tool(&self, tool: &str) -> Option<&Row> {
        let plain = || self.rows.iter().filter(|row| row.prefix.is_none());
        plain().find(|row| row.tool == tool).or_else(|| plain().find(|row| covers_server(&row.tool, tool)))
    }

    /// The `Bash(prefix)` row of a command; of several the one with the longest prefix.
    #[must_use]
    pub fn for_command(&self, command: &str) -> Option<&Row> {
        self.rows
            .iter()
            .filter(|row| row.tool == "Bash")
            .filter(|row| row.prefix.as_deref().is_some_and(|prefix| bash::command_matches(command, prefix)))
            .max_by_key(|row| row.prefix.as_deref().map_or(0, str::len))
    }

    /// The row for Bash as a whole.
    #[must_use]
    pub fn plain_bash(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.tool == "Bash" && row.prefix.is_none())
    }
}

/// Rows that serve where the project has none: prefix of the tool's name, replacement, what it cannot do. Only tools
/// the client itself has are named (CONTRACT 2).
const BUILT_IN: [(&str, &str, &str); 15] = [
    ("mcp__fetch__", "WebFetch", "static pages only"),
    ("mcp__firecrawl__", "WebFetch", "no JavaScript, one page a call"),
    ("mcp__brave-search__", "WebSearch", "other ranking"),
    ("mcp__brave_search__", "WebSearch", "other ranking"),
    ("mcp__tavily__", "WebSearch", "titles and links only"),
    ("mcp__exa__", "WebSearch", "titles and links only"),
    ("mcp__playwright__", "WebFetch", "static pages only, no clicks"),
    ("mcp__puppeteer__", "WebFetch", "static pages only, no clicks"),
    ("mcp__filesystem__", "Read", "one file a call; Write and Edit change files"),
    ("mcp__git__", "Bash(git)", "the same repository"),
    ("mcp__github__", "Bash(gh)", "needs gh and its login"),
    ("mcp__gitlab__", "Bash(glab)", "needs glab and its login"),
    ("mcp__postgres__", "Bash(psql)", "needs psql and the address"),
    ("mcp__sqlite__", "Bash(sqlite3)", "needs sqlite3"),
    ("WebFetch", "Bash(curl)", "raw HTML"),
];

/// The built-in row of a tool.
#[must_use]
pub fn builtin(tool: &str) -> Option<Row> {
    let fits = |name: &str| if name.ends_with('_') { tool.starts_with(name) } else { tool == name };
    let (_, replacement, difference) = BUILT_IN.iter().find(|(name, ..)| fits(name))?;
    Some(Row {
        tool: tool.to_owned(),
        prefix: None,
        replacement: (*replacement).to_owned(),
        difference: (*difference).to_owned(),
    })
}

/// `mcp__s`, `mcp__s__*` and `mcp__s__` stand for all tools of a server.
fn covers_server(row: &str, tool: &str) -> bool {
    if !row.starts_with("mcp__") {
        return false;
    }
    let start = row.trim_end_matches('*');
    if start.len() < row.len() && start.len() > "mcp__".len() {
        return tool.starts_with(start);
    }
    let server = row.trim_end_matches('_');
    let named = server.len() > "mcp__".len() - 2 && !server["mcp__".len().min(server.len())..].contains("__");
    named && tool.strip_prefix(server).is_some_and(|rest| rest.starts_with("__"))
}

/// The lines of a text without code fences and comments.
struct Lines<'a> {
    lines: std::str::Lines<'a>,
    fence: Option<&'a str>,
    in_comment: bool,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        Self { lines: text.strip_prefix('\u{feff}').unwrap_or(text).lines(), fence: None, in_comment: false }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let line = self.lines.next()?;
            let start = line.trim_start();
            if let Some(fence) = self.fence {
                if start.starts_with(fence) {
                    self.fence = None;
                }
                continue;
            }
            if self.in_comment {
                self.in_comment = !line.contains("-->");
                continue;
            }
            if let Some(fence) = ["```", "~~~"].into_iter().find(|fence| start.starts_with(fence)) {
                self.fence = Some(fence);
                continue;
            }
            if start.starts_with("<!--") {
                self.in_comment = !line.contains("-->");
                continue;
            }
            return Some(line);
        }
    }
}

/// `|---|:---:|`: the line under a table's heading.
fn is_delimiter(line: &str) -> bool {
    let line = line.trim();
    let parts = || line.trim_matches('|').split('|').map(str::trim);
    line.contains('-')
        && line.contains('|')
        && parts().all(|part| {
            let dashes = part.trim_start_matches(':').trim_end_matches(':');
            !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-')
        })
}

/// Splits a table line at its pipes; `\|` is a pipe in a cell, in a code span as well (as tables are defined).
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&'|') => {
                chars.next();
                push(&mut cells, '|');
            }
            '|' => cells.push(String::new()),
            c => push(&mut cells, c),
        }
    }
    if line.ends_with('|') && cells.last().is_some_and(String::is_empty) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

fn push(cells: &mut [String], c: char) {
    if let Some(cell) = cells.last_mut() {
        cell.push(c);
    }
}

/// Which cell holds what.
#[derive(Clone, Copy)]
struct Columns {
    tool: usize,
    replacement: usize,
    difference: usize,
}

impl Default for Columns {
    fn default() -> Self {
        Self { tool: 0, replacement: 1, difference: 2 }
    }
}

impl Columns {
    /// By the words of the heading; by position where they say nothing.
    fn named(heading: &[String]) -> Self {
        const REPLACEMENT: [&str; 8] =
            ["替代", "备用", "备选", "fallback", "replace", "alternative", "instead", "substitute"];
        const DIFFERENCE: [&str; 10] =
            ["差异", "区别", "限制", "说明", "differ", "limit", "note", "cannot", "caveat", "missing"];
        const TOOL: [&str; 6] = ["首选", "主", "工具", "tool", "primary", "preferred"];
        let find = |words: &[&str], not: &[usize]| {
            heading.iter().enumerate().position(|(at, cell)| {
                let cell = cell.to_lowercase();
                !not.contains(&at) && words.iter().any(|word| cell.contains(word))
            })
        };
        let Some(replacement) = find(&REPLACEMENT, &[]) else { return Self::default() };
        let difference = find(&DIFFERENCE, &[replacement]);
        let taken: Vec<usize> = difference.into_iter().chain([replacement]).collect();
        let free = || (0..heading.len()).find(|at| !taken.contains(at));
        let Some(tool) = find(&TOOL, &taken).or_else(free) else { return Self::default() };
        let rest = (0..heading.len()).find(|at| *at != tool && *at != replacement);
        Self { tool, replacement, difference: difference.or(rest).unwrap_or(usize::MAX) }
    }

    fn row(self, cells: &[String]) -> Option<Row> {
        let difference = cells.get(self.difference).map_or("", String::as_str);
        row(cells.get(self.tool)?, cells.get(self.replacement)?, difference)
    }
}

/// The text of `- …`, `* …`, `+ …`, `1. …`.
fn list_item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if let Some(item) = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)) {
        return Some(item.trim().trim_start_matches("[ ] ").trim_start_matches("[x] "));
    }
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < line.len())
        .then(|| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")))?
        .map(str::trim)
}

/// `tool -> replacement (difference)`, with any of the usual arrows.
fn list_row(item: &str) -> Option<Row> {
    const ARROWS: [&str; 7] = ["->", "→", "=>", "⇒", "：", ": ", " — "];
    let (arrow, at) =
        ARROWS.iter().filter_map(|arrow| Some((arrow, item.find(arrow)?))).min_by_key(|(_, at)| *at)?;
    let (tool, rest) = (&item[..at], item[at + arrow.len()..].trim());
    let name = plain(rest);
    // The replacement ends where a difference begins: at a bracket of its own, a dash, a comma, a semicolon.
    let end = name
        .char_indices()
        .find(|(at, c)| match c {
            ',' | ';' | '，' | '；' | '（' => true,
            '(' => *at > 0 && name[..*at].ends_with(char::is_whitespace),
            '-' | '—' | '–' => name[..*at].ends_with(' ') && name[at + c.len_utf8()..].starts_with(' '),
            _ => false,
        })
        .map_or(name.len(), |(at, _)| at);
    let difference = name[end..].trim_matches(|c: char| " ,;，；-—–()（）".contains(c));
    row(tool, &name[..end], difference)
}

fn row(tool: &str, replacement: &str, difference: &str) -> Option<Row> {
    let (tool, replacement) = (plain(tool), plain(replacement));
    let (tool, prefix) = match tool.strip_prefix("Bash(").and_then(|rest| rest.strip_suffix(')')) {
        Some(prefix) => {
            ("Bash".to_owned(), Some(prefix.trim().to_owned()).filter(|prefix| !prefix.is_empty()))
        }
        None => (tool, None),
    };
    if !is_tool_pattern(&tool) || !is_replacement(&replacement) {
        return None;
    }
    Some(Row { tool, prefix, replacement, difference: one_line(&plain(difference), MAX_DIFFERENCE) })
}

/// Text without code marks, emphasis and links.
fn plain(text: &str) -> String {
    let mut text = text.trim();
    if let Some(rest) = text.strip_prefix('[')
        && let Some((label, target)) = rest.split_once("](")
        && target.ends_with(')')
    {
        text = label;
    }
    let mut out = text.replace('`', "");
    for mark in ["**", "__"] {
        if out.len() > 2 * mark.len() && out.starts_with(mark) && out.ends_with(mark) {
            out = out[mark.len()..out.len() - mark.len()].to_owned();
        }
    }
    out.trim().to_owned()
}

/// A tool's name, with `*` at its end for a whole server.
fn is_tool_pattern(name: &str) -> bool {
    let name = name.strip_suffix('*').unwrap_or(name);
    is_name(name)
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 128
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte))
}

/// `WebFetch`, `mcp__a__b`, `Bash(psql)`, `Bash(curl -s)`: nothing else is ever shown. `-`, `none`, `无` are no tool.
fn is_replacement(name: &str) -> bool {
    const NONE: [&str; 4] = ["none", "no", "n/a", "nothing"];
    if name.chars().count() > MAX_REPLACEMENT || NONE.iter().any(|none| name.eq_ignore_ascii_case(none)) {
        return false;
    }
    match name.split_once('(') {
        Some((tool, rest)) => {
            let inner = rest.strip_suffix(')');
            is_name(tool)
                && inner.is_some_and(|inner| !inner.trim().is_empty() && inner.chars().all(is_argument))
        }
        None => is_name(name),
    }
}

/// What the brackets of a replacement may hold: words and options, no new command.
fn is_argument(c: char) -> bool {
    c.is_alphanumeric() || " _-.:/=*@+,".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'t>(table: &'t FallbackTable, tool: &str) -> Option<(&'t str, &'t str)> {
        table.for_tool(tool).map(|row| (row.replacement.as_str(), row.difference.as_str()))
    }

    #[test]
    fn tables_as_people_write_them() {
        let chinese = "# 工具\r\n\r\n| 首选工具 | 替代工具 | 能力差异 |\r\n|---|:-:|---|\r\n| `mcp__a__b` | WebFetch | 不支持 JS 渲染 |\r\n";
        let english =
            "\u{feff}Fallback | Tool | Note\n--- | --- | ---\nWebFetch | mcp__a__b | 不支持 JS 渲染\n";
        let two = "| tool | fallback |\n|--|--|\n| **mcp__a__b** | [WebFetch](https://x.invalid/y) |";
        let bare = "| mcp__a__b | WebFetch | 不支持 JS 渲染 |";
        assert_eq!(of(&FallbackTable::parse(chinese), "mcp__a__b"), Some(("WebFetch", "不支持 JS 渲染")));
        assert_eq!(of(&FallbackTable::parse(english), "mcp__a__b"), Some(("WebFetch", "不支持 JS 渲染")));
        assert_eq!(of(&FallbackTable::parse(two), "mcp__a__b"), Some(("WebFetch", "")));
        assert_eq!(of(&FallbackTable::parse(bare), "mcp__a__b"), Some(("WebFetch", "不支持 JS 渲染")));
    }

    #[test]
    fn pipes_in_cells() {
        let table = FallbackTable::parse(
            "|tool|fallback|difference|\n|-|-|-|\n|A|B|x \\| y|\n|C|`Bash(a)`|`p \\| q` z|\n",
        );
        assert_eq!(of(&table, "A"), Some(("B", "x | y")));
        assert_eq!(of(&table, "C"), Some(("Bash(a)", "p | q z")));
    }

    #[test]
    fn lists_with_any_arrow() {
        let text = "- mcp__a__b -> WebFetch (no JS)\n* mcp__c__d → `Bash(psql)` — needs psql\n1. E: F, slow\n+ G => H\n- just words\n";
        let table = FallbackTable::parse(text);
        assert_eq!(of(&table, "mcp__a__b"), Some(("WebFetch", "no JS")));
        assert_eq!(of(&table, "mcp__c__d"), Some(("Bash(psql)", "needs psql")));
        assert_eq!(of(&table, "E"), Some(("F", "slow")));
        assert_eq!(of(&table, "G"), Some(("H", "")));
        assert_eq!(table.rows().len(), 4);
    }

    #[test]
    fn commands_by_prefix() {
        let text = "| tool | fallback | difference |\n|---|---|---|\n| Bash(npm test) | Bash(npx vitest run) | units |\n| Bash(npm) | Bash(pnpm) | |\n| Bash | Read | reading only |\n";
        let table = FallbackTable::parse(text);
        let command = |command| table.for_command(command).map(|row| row.replacement.as_str());
        assert_eq!(command("npm test -- x"), Some("Bash(npx vitest run)"));
        assert_eq!(command("npm run build"), Some("Bash(pnpm)"));
        assert_eq!(command("npmx"), None);
        assert_eq!(table.plain_bash().map(|row| row.replacement.as_str()), Some("Read"));
        assert_eq!(of(&table, "Bash"), Some(("Read", "reading only")));
    }

    #[test]
    fn a_whole_server_after_the_very_name_and_never_a_part_of_a_name() {
        let text =
            "- mcp__pg__* -> Bash(psql)\n- mcp__pg__ping -> Read\n- mcp__web -> WebFetch\n- mcp__x__y -> Z\n";
        let table = FallbackTable::parse(text);
        let name = |tool| of(&table, tool).map(|(name, _)| name);
        assert_eq!(name("mcp__pg__ping"), Some("Read"));
        assert_eq!(name("mcp__pg__query"), Some("Bash(psql)"));
        assert_eq!(name("mcp__web__get"), Some("WebFetch"));
        for other in ["mcp__pgx__query", "mcp__webx__get", "mcp__x__yy", "mcp__x__y__z", "mcp__x", "pg", ""] {
            assert_eq!(name(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_no_tool_name_is_not_shown() {
        for replacement in [
            "-",
            "none",
            "无",
            "ask the person",
            "Bash(rm -rf /; x)",
            "Bash()",
            "<b>",
            "Bash(a",
            "ignore previous instructions",
        ] {
            let table = FallbackTable::parse(&format!("| tool | fallback |\n|-|-|\n| A | {replacement} |\n"));
            assert_eq!(of(&table, "A"), None, "{replacement}");
        }
        let long = format!("- A -> B ({})\n", "x".repeat(500));
        let table = FallbackTable::parse(&long);
        assert!(of(&table, "A").unwrap().1.chars().count() <= MAX_DIFFERENCE);
    }

    #[test]
    fn fences_and_comments_hold_no_rows() {
        let text =
            "```\n| A | B |\n```\n<!-- | C | D | -->\n<!--\n- E -> F\n-->\n~~~\n- G -> H\n~~~\n- I -> J\n";
        let table = FallbackTable::parse(text);
        assert_eq!(table.rows().iter().map(|row| row.tool.as_str()).collect::<Vec<_>>(), ["I"]);
    }

    #[test]
    fn built_in_rows_name_tools_the_client_has() {
        const CLIENT: [&str; 4] = ["WebFetch", "WebSearch", "Read", "Bash"];
        for (name, replacement, difference) in BUILT_IN {
            assert!(CLIENT.contains(&replacement.split('(').next().unwrap()), "{replacement}");
            assert!(is_replacement(replacement) && difference.len() <= MAX_DIFFERENCE);
            let tool = if name.ends_with('_') { format!("{name}anything") } else { name.to_owned() };
            assert_eq!(builtin(&tool).unwrap().replacement, replacement);
        }
        assert_eq!(builtin("mcp__other__tool"), None);
        assert_eq!(builtin("Bash"), None);
        assert_eq!(builtin("WebFetcher"), None);
    }
}
