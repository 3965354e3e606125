//! Messages of all client versions: kind and reset, one row each.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use chrono::{DateTime, Duration, Utc};
use proptest::prelude::*;
use screens::{Kind, Limit, Moment, Wording, Wordings};

fn moment(now: &str, host: &str) -> Moment {
    Moment::parse(now, Some(host)).unwrap()
}

/// 2026-07-08 is a Wednesday; summer time in both zones of the tables.
fn wednesday_noon() -> Moment {
    moment("2026-07-08T12:00:00Z", "UTC")
}

fn read(text: &str, moment: &Moment) -> Option<Limit> {
    Wordings::default().read(text, moment)
}

/// The reset as RFC 3339, and whether its zone is assumed.
fn reset(text: &str, moment: &Moment) -> Option<(String, bool)> {
    read(text, moment).and_then(|limit| limit.reset).map(|reset| (reset.rfc3339(), reset.assumed_zone))
}

fn instant(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).unwrap().with_timezone(&Utc)
}

#[test]
fn every_wording_has_its_kind() {
    use Kind::{Auth, Billing, Context, ModelLimit, Overload, RequestLimit, ServerError, UsageLimit};
    for (text, expected) in [
        // 1.0
        ("Claude AI usage limit reached|1783600000", UsageLimit),
        ("Claude usage limit reached. Your limit will reset at 1pm (Etc/GMT+5).", UsageLimit),
        ("Claude Pro usage limit reached. Your limit will reset at Oct 7, 1am.", UsageLimit),
        ("5-hour limit reached ∙ resets 3pm", UsageLimit),
        ("Session limit reached ∙ resets 10:37pm", UsageLimit),
        ("Weekly limit reached ∙ resets Dec 3, 9:38pm", UsageLimit),
        ("Opus weekly limit reached ∙ resets 1:38am", ModelLimit),
        ("Spending cap reached resets 10:27pm", UsageLimit),
        ("Limit reached · resets 5pm · /upgrade to Max or turn on /extra-usage", UsageLimit),
        ("Usage limit reached for this month", UsageLimit),
        // 2.0 and 2.1
        ("You've hit your limit · resets 10pm (Europe/Oslo)", UsageLimit),
        ("You've hit your session limit · resets 10:36pm (UTC)", UsageLimit),
        ("You've hit your 5-hour limit · resets 10:20pm (UTC)", UsageLimit),
        ("You've hit your 5-hour limit\n/upgrade to increase your usage limit.", UsageLimit),
        ("You've hit your weekly limit · resets Mon 12:00am · progress saved", UsageLimit),
        ("You've reached your weekly usage limit. Resets Jul 9, 4pm", UsageLimit),
        ("You have hit your usage limit. Try again at 5:02 PM.", UsageLimit),
        ("You've hit your Opus limit · resets 3:45pm", ModelLimit),
        ("You've hit your Sonnet limit · resets 3:45pm", ModelLimit),
        ("You've hit your Fable limit · resets Jul 9, 3:45pm", ModelLimit),
        ("You've reached your Fable 5 limit. Run /usage-credits to continue or switch models.", ModelLimit),
        ("You've hit your Opus 4.1 limit · resets 3:45pm", ModelLimit),
        ("You've hit your Rhapsody limit · resets 3:45pm", ModelLimit),
        ("Rhapsody 7 weekly limit reached ∙ resets 3:45pm", ModelLimit),
        ("Error: You've hit your session limit · resets 3pm", UsageLimit),
        ("API Error: 429 · You've hit your weekly limit", UsageLimit),
        ("You're out of extra usage · resets 11:30am (Asia/Colombo)", UsageLimit),
        ("You're out of extra usage. Resets at 4pm (America/Chicago).", UsageLimit),
        ("You're out of usage credits · resets 9pm (UTC)", UsageLimit),
        ("Usage limit reached · set to continue automatically at 10:20pm", UsageLimit),
        ("Usage limit reached · limit resets 10:20pm", UsageLimit),
        (
            "You've hit your org's monthly spend limit · ask your admin to raise it at https://x.invalid/u · your 5-hour limit resets 9pm (UTC)",
            UsageLimit,
        ),
        (
            "You've hit your individual spend limit · run /usage-credits to ask your admin for a higher limit · your weekly limit resets Jul 12, 4pm (UTC)",
            UsageLimit,
        ),
        // doc 001's words
        ("usage limit exceeded", UsageLimit),
        ("429 Too Many Requests", RequestLimit),
        ("Rate limited. Press Enter to retry", RequestLimit),
        ("API Error: Rate limit reached", RequestLimit),
        ("API Error: account rate-limit exceeded", RequestLimit),
        ("You've hit your rate limit. Try again in 30 seconds.", RequestLimit),
        ("Request failed with status code 429", RequestLimit),
        ("API Error: Request rejected (429) · this may be a temporary capacity issue", RequestLimit),
        (
            r#"API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"too fast"}}"#,
            RequestLimit,
        ),
        // capacity
        (
            "API Error: Server is temporarily limiting requests (not your usage limit) · Rate limited",
            Overload,
        ),
        ("API Error: 529 Overloaded. This is a server-side issue — try again in a moment.", Overload),
        ("API Error: Repeated 529 Overloaded errors · check status.claude.com", Overload),
        (r#"API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}"#, Overload),
        ("Opus is experiencing high load, please use /model to switch to Sonnet", Overload),
        // server and network
        ("API Error: 500 Internal server error.", ServerError),
        ("API Error: 503 upstream", ServerError),
        ("API Error: Server error mid-response. The answer may be cut.", ServerError),
        ("API Error: Connection dropped (ECONNRESET). Check the gateway.", ServerError),
        ("API Error: Connection refused (ECONNREFUSED)", ServerError),
        ("API Error: Unable to connect to API (ENOTFOUND)", ServerError),
        ("Request timed out", ServerError),
        ("API Error: No response from API", ServerError),
        (
            "API Error: Your computer went to sleep mid-response. The response above may be incomplete.",
            ServerError,
        ),
        ("API Error: The response stopped arriving", ServerError),
        ("API Error: Response stalled mid-stream", ServerError),
        ("API Error: Connection lost before a response was produced", ServerError),
        ("API Error: No internet route — check your connection (ENETUNREACH)", ServerError),
        ("API Error: Couldn't connect through your proxy", ServerError),
        ("API Error: Socket is closed", ServerError),
        ("API returned an empty or malformed response", ServerError),
        ("Unable to connect to API: SSL certificate verification failed", ServerError),
        // billing
        ("Credit balance is too low", Billing),
        ("API Error: 402 pay first", Billing),
        ("spend limit reached (daily; resets 2026-08-09 00:00 UTC)", Billing),
        ("You've hit your org's monthly spend limit · ask your admin to raise it", Billing),
        ("You've hit your organization's monthly usage limit", Billing),
        (
            "You've hit your team's pooled group budget · resets Dec 6, 8:20pm (UTC) · ask your admin to raise it at https://x.invalid/u",
            Billing,
        ),
        ("You've hit your monthly spend limit · raise it at claude.ai/settings/usage", Billing),
        ("You've hit your individual usage limit · ask your admin for a higher limit", Billing),
        ("You've hit your channel's monthly spend limit · an org owner can raise it", Billing),
        ("You've hit your team's shared budget · ask your admin to raise it", Billing),
        ("Your org is out of usage · contact your admin", Billing),
        ("Your organization is out of usage credits. Contact your admin to add more.", Billing),
        ("spend limit unavailable", Billing),
        ("API Error: Extra usage is required for 1M context · run /extra-usage", Billing),
        ("Your seat type doesn't include usage credits", Billing),
        ("Your usage allocation has been disabled by your admin · ask", Billing),
        ("Your group's usage limit is set to $0 · ask", Billing),
        ("This service is disabled for your org", Billing),
        ("Usage is paused for your organization. For help, please contact support.", Billing),
        ("API Error: Usage credits required for 1M context · run /usage-credits", Billing),
        // login
        ("Not logged in · Please run /login", Auth),
        ("Invalid API key · Fix external API key", Auth),
        ("Please run /login · API Error: 401 OAuth token has expired.", Auth),
        ("OAuth token revoked · Please run /login", Auth),
        ("Failed to authenticate. API Error: 403 no", Auth),
        ("This organization has been disabled", Auth),
        ("Login expired · Please run /login", Auth),
        ("Authentication required · Sign in again to continue", Auth),
        ("Claude login not accepted · Run /login, then try again", Auth),
        ("Your apiKeyHelper script is failing", Auth),
        ("Invalid auth token · Fix external auth token", Auth),
        ("Invalid request header from the environment · Fix the environment variable", Auth),
        ("Your organization has disabled API key authentication", Auth),
        ("Could not resolve authentication method", Auth),
        ("AWS authentication failed", Auth),
        ("Google Cloud credentials expired or invalid", Auth),
        ("Cloud gateway session expired — run /login to reconnect.", Auth),
        ("Your account is on hold and can't sign in to Claude Code.", Auth),
        // size
        ("Prompt is too long", Context),
        ("Prompt is too long · the request is ~250000 tokens", Context),
        ("Error during compaction: Conversation too long", Context),
        ("Request too large (max 32MB). Double press esc to go back.", Context),
        ("API Error: The model has reached its context window limit.", Context),
    ] {
        assert_eq!(read(text, &wednesday_noon()).map(|limit| limit.kind), Some(expected), "{text}");
        let curly = text.replace('\'', "\u{2019}");
        assert_eq!(Wordings::default().kind(&curly), Some(expected), "{curly}");
        assert_eq!(Wordings::default().kind(&text.to_uppercase()), Some(expected), "{text} in upper case");
        let shown = ["Error:", "Request failed", "Opus is"].iter().all(|start| !text.starts_with(start));
        assert_eq!(
            Wordings::default().banner(text, &wednesday_noon()).is_some(),
            shown,
            "{text} on a screen"
        );
    }
}

#[test]
fn warnings_and_other_errors_are_no_limit() {
    for text in [
        "",
        "You've used 91% of your 5-hour limit · resets 10:34pm (UTC)",
        "You've used 75% of your weekly usage limit · resets Monday",
        "Approaching usage limit · resets at 7pm",
        "Approaching Opus usage limit · /model to use best available model",
        "You're close to your usage limit",
        "You're now using usage credits · Your 5-hour limit resets 10:34pm (UTC)",
        "You're now using extra usage ∙ Your weekly limit resets Friday at 12:00 PM",
        "Your usage limit has reset",
        "/upgrade to increase your usage limit.",
        "There's an issue with the selected model (x). It may not exist.",
        "API Error: 400 messages.3: something odd",
        "API Error: Claude's response exceeded the 64000 output token maximum.",
        "File size limit reached",
        "Turn limit reached",
        "Fast limit reached and off for a while · resets in 2m",
        "Claude Opus 4 limit reached, now using Sonnet 4",
        "Usage limit reset · Continuing automatically",
        "Automatic continue stopped after repeated usage limit hits · This task will not resume on its own",
        "Automatic continue cancelled · /rate-limit-options to wait again",
        "Done: the retry delay is 429 ms, see src/net.rs:418-429",
        "All tests pass.",
    ] {
        assert_eq!(read(text, &wednesday_noon()), None, "{text}");
    }
}

#[test]
fn a_banner_begins_like_a_message() {
    let wordings = Wordings::with(vec![Wording::new("allowance is gone", Kind::UsageLimit).unwrap()]);
    let is_banner = |text: &str| wordings.banner(text, &wednesday_noon()).is_some();
    for text in [
        "⎿ \u{a0}You've hit your 5-hour limit · resets 10:17pm (UTC)",
        "● API Error: Request rejected (429) · too fast",
        "⚠ Usage limit reached · limit resets 10:20pm",
        "Opus weekly limit reached ∙ resets 1:38am",
        "✻ 5-hour limit reached · retrying in 14m (8:56pm) · attempt 1/300",
        "⎿  Allowance is gone until Monday",
        "⎿  You've hit your team's pooled group budget · resets Dec 6, 8:20pm (UTC) · ask your admin",
        "  You've hit your weekly limit. Resets Jul 9, 4pm",
    ] {
        assert!(is_banner(text), "{text}");
    }
    for text in [
        "● The log says: You've hit your 5-hour limit · resets 10:17pm (UTC). The client then prints",
        "and API Error: 529 Overloaded. I handled both in limits.rs.",
        "10:00:01 pane %4 limited: 5-hour limit reached ∙ resets 3pm",
        "the allowance is gone, says the report",
        "▎ Usage limit reached · set to continue automatically at 10:17pm",
        "❯ You've hit your 5-hour limit · resets 10:17pm (UTC)",
        "● You've hit your limit three times this week, so I looked at the log.",
        "13 + // rate limit: wait for the usage limit window, resets at res.headers",
        "second topic: the limit report",
        "You've used 91% of your 5-hour limit · resets 10:34pm (UTC)",
    ] {
        assert!(!is_banner(text), "{text}");
    }
}

#[test]
fn every_form_of_a_time_is_read() {
    let now = wednesday_noon();
    for (form, expected) in [
        // clocks
        ("3pm", "2026-07-08T15:00:00Z"),
        ("3 pm", "2026-07-08T15:00:00Z"),
        ("3\u{202f}PM", "2026-07-08T15:00:00Z"),
        ("3\u{a0}p.m.", "2026-07-08T15:00:00Z"),
        ("at 3 p.m. (Europe/Oslo)", "2026-07-08T13:00:00Z"),
        ("3:45pm", "2026-07-08T15:45:00Z"),
        ("3:45:59 PM", "2026-07-08T15:45:59Z"),
        ("15:30", "2026-07-08T15:30:00Z"),
        ("15:30Z", "2026-07-08T15:30:00Z"),
        ("12am", "2026-07-09T00:00:00Z"),
        ("12:30am", "2026-07-09T00:30:00Z"),
        ("00:30", "2026-07-09T00:30:00Z"),
        ("12:30pm", "2026-07-08T12:30:00Z"),
        ("12pm", "2026-07-08T12:00:00Z"),
        ("midnight", "2026-07-09T00:00:00Z"),
        ("noon (America/New_York)", "2026-07-08T16:00:00Z"),
        ("today at 5pm", "2026-07-08T17:00:00Z"),
        ("tomorrow at 5pm", "2026-07-09T17:00:00Z"),
        ("5pm tomorrow", "2026-07-09T17:00:00Z"),
        // days of the week
        ("Mon 12:00am", "2026-07-13T00:00:00Z"),
        ("Monday at 3pm", "2026-07-13T15:00:00Z"),
        ("on Sunday at 12:00 AM", "2026-07-12T00:00:00Z"),
        ("Thurs, 9:15am", "2026-07-09T09:15:00Z"),
        ("9am on Tue", "2026-07-14T09:00:00Z"),
        ("Wed 1pm", "2026-07-08T13:00:00Z"),
        ("Monday", "2026-07-13T00:00:00Z"),
        // dates
        ("Jul 12, 9:38pm", "2026-07-12T21:38:00Z"),
        ("Jul 12 9:38 PM", "2026-07-12T21:38:00Z"),
        ("July 12th at 9pm", "2026-07-12T21:00:00Z"),
        ("Sept. 3, 9pm", "2026-09-03T21:00:00Z"),
        ("12 Jul at 9pm", "2026-07-12T21:00:00Z"),
        ("12 July, 21:05", "2026-07-12T21:05:00Z"),
        ("9pm on Jul 12", "2026-07-12T21:00:00Z"),
        ("Sun, Jul 12, 9pm", "2026-07-12T21:00:00Z"),
        ("Jan 29, 2027, 8:23pm", "2027-01-29T20:23:00Z"),
        ("29 January 2027 at 8:23pm", "2027-01-29T20:23:00Z"),
        ("Jul 12", "2026-07-12T00:00:00Z"),
        ("2026-08-09 00:00 UTC", "2026-08-09T00:00:00Z"),
        ("2026-08-09 07:15", "2026-08-09T07:15:00Z"),
        ("2026-08-09", "2026-08-09T00:00:00Z"),
        ("2026-08-09T02:00:00+02:00", "2026-08-09T00:00:00Z"),
        ("2026-08-09T00:00:00.250Z", "2026-08-09T00:00:00Z"),
        ("Sun, 09 Aug 2026 07:28:00 GMT", "2026-08-09T07:28:00Z"),
        ("Sun Aug 09 2026 07:28:00 GMT+0200 (somewhere)", "2026-08-09T05:28:00Z"),
        // zones
        ("3pm (Asia/Tokyo)", "2026-07-09T06:00:00Z"),
        ("3pm Europe/Oslo", "2026-07-08T13:00:00Z"),
        ("3pm (europe/oslo)", "2026-07-08T13:00:00Z"),
        ("3pm [Europe/Oslo]", "2026-07-08T13:00:00Z"),
        ("3pm(America/New_York)", "2026-07-08T19:00:00Z"),
        ("3pm (America/New York)", "2026-07-08T19:00:00Z"),
        ("3pm (America/Argentina/Buenos_Aires)", "2026-07-08T18:00:00Z"),
        ("5:30pm (Asia/Calcutta)", "2026-07-08T12:00:00Z"),
        ("5:45pm (Asia/Kathmandu)", "2026-07-08T12:00:00Z"),
        ("1pm (Etc/GMT+5)", "2026-07-08T18:00:00Z"),
        ("3pm UTC", "2026-07-08T15:00:00Z"),
        ("3pm GMT", "2026-07-08T15:00:00Z"),
        ("3pm (UTC+2)", "2026-07-08T13:00:00Z"),
        ("3pm GMT-5", "2026-07-08T20:00:00Z"),
        ("18:00 +05:30", "2026-07-08T12:30:00Z"),
        ("15:00+0200", "2026-07-08T13:00:00Z"),
        ("3pm EDT", "2026-07-08T19:00:00Z"),
        ("8am PDT", "2026-07-08T15:00:00Z"),
        // spans and counts
        ("in 2h 15m", "2026-07-08T14:15:00Z"),
        ("in 2h15m", "2026-07-08T14:15:00Z"),
        ("in 3 hours", "2026-07-08T15:00:00Z"),
        ("in 3 hours and 5 minutes", "2026-07-08T15:05:00Z"),
        ("in 2 hours, 30 minutes", "2026-07-08T14:30:00Z"),
        ("in about an hour", "2026-07-08T13:00:00Z"),
        ("in 1 day 2 hrs", "2026-07-09T14:00:00Z"),
        ("in 45 seconds", "2026-07-08T12:00:45Z"),
        ("13m", "2026-07-08T12:13:00Z"),
        ("1783600000", "2026-07-09T12:26:40Z"),
    ] {
        let text = format!("You've hit your limit · resets {form}");
        assert_eq!(reset(&text, &now).map(|(at, _)| at).as_deref(), Some(expected), "{text}");
        let end = format!("You've hit your limit. It will reset {form}.");
        assert_eq!(reset(&end, &now).map(|(at, _)| at).as_deref(), Some(expected), "{end}");
        let more = format!("You've hit your limit · resets {form} · /upgrade at 9:99");
        assert_eq!(reset(&more, &now).map(|(at, _)| at).as_deref(), Some(expected), "{more}");
    }
}

#[test]
fn a_reset_is_found_wherever_it_stands() {
    let now = wednesday_noon();
    for (text, expected) in [
        ("Claude AI usage limit reached|1783600000", "2026-07-09T12:26:40Z"),
        ("Claude AI usage limit reached|1783600000250", "2026-07-09T12:26:40Z"),
        (r#"usage limit {"resetsAt":1783600000,"x":1}"#, "2026-07-09T12:26:40Z"),
        ("You've hit your usage limit. Try again at 5:02 PM.", "2026-07-08T17:02:00Z"),
        ("You've hit your usage limit. Try again at Jul 9th, 2026 5:02 PM.", "2026-07-09T17:02:00Z"),
        ("Rate limit reached, try again in 2 hours 30 minutes", "2026-07-08T14:30:00Z"),
        ("429 Too Many Requests. Retry-After: 120", "2026-07-08T12:02:00Z"),
        ("429 Too Many Requests, retry after 30 seconds", "2026-07-08T12:00:30Z"),
        ("429 Too Many Requests. Retry-After: Wed, 08 Jul 2026 12:05:00 GMT", "2026-07-08T12:05:00Z"),
        ("Usage limit reached · set to continue automatically at 10:20pm", "2026-07-08T22:20:00Z"),
        (
            "Usage limit reached · continuing automatically at 10:37pm · esc or type to cancel",
            "2026-07-08T22:37:00Z",
        ),
        ("5-hour limit reached · retrying in 14m (12:14pm) · attempt 1/300", "2026-07-08T12:14:00Z"),
        (
            "You've hit your org's monthly spend limit · resets Aug 1, 12am · ask your admin · your 5-hour limit resets 9pm (UTC)",
            "2026-07-08T21:00:00Z",
        ),
        (
            "You've hit your monthly spend limit · resets Aug 1, 12am · your weekly limit resets Jul 12, 4am",
            "2026-07-12T04:00:00Z",
        ),
        ("Limit reached · resets 5pm (UTC) · /upgrade to Max (20x)", "2026-07-08T17:00:00Z"),
        ("You've hit your limit · resets 3pm. Monday is a holiday.", "2026-07-08T15:00:00Z"),
    ] {
        assert_eq!(reset(text, &now).map(|(at, _)| at).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn what_is_no_time_leaves_the_kind() {
    let now = wednesday_noon();
    for form in [
        "",
        "30",
        "3",
        "soon",
        "13pm",
        "0pm",
        "25:00",
        "24:00",
        "12:60",
        "9:5pm",
        "7:3",
        "Feb 30, 3pm",
        "Dec 32, 9pm",
        "Feb 29, 2027, 3pm",
        "June",
        "-5pm",
        "in",
        "in a while",
        "in minutes",
        "2019-01-01 00:00",
        "2031-01-01 00:00",
        "999999999999999999999",
        "in 99999999999999999999 hours",
        "in 9223372036854775807 weeks",
        "(UTC)",
        "::pm",
    ] {
        let text = format!("You've hit your session limit · resets {form}");
        let limit = read(&text, &now).unwrap();
        assert_eq!((limit.kind, limit.reset, limit.waits), (Kind::UsageLimit, None, true), "{text}");
    }
    for text in
        ["Claude AI usage limit reached|17836", "Claude AI usage limit reached|", "usage limit reached|x"]
    {
        let limit = read(text, &now).unwrap();
        assert_eq!((limit.kind, limit.reset), (Kind::UsageLimit, None), "{text}");
    }
}

#[test]
fn only_the_beginning_of_a_long_text_is_read() {
    let text = |filling: usize| format!("You've hit your limit · {}resets 3pm", "x ".repeat(filling));
    let start = "You've hit your limit · ".chars().count() + "resets 3pm".len();
    let fits = (4096 - start) / 2;
    assert!(read(&text(fits), &wednesday_noon()).unwrap().reset.is_some());
    assert!(read(&text(fits + 5), &wednesday_noon()).unwrap().reset.is_none());
    let huge = format!("You've hit your limit · {}", "resets try again until ".repeat(100_000));
    assert!(read(&huge, &wednesday_noon()).unwrap().reset.is_none());
}

#[test]
fn what_does_not_pass_has_no_reset() {
    let now = wednesday_noon();
    for (text, waits) in [
        ("spend limit reached (daily; resets 2026-08-09 00:00 UTC)", false),
        ("You've hit your team's pooled group budget · resets Dec 6, 8:20pm (UTC) · ask your admin", false),
        ("Credit balance is too low", false),
        ("Not logged in · Please run /login · try again at 3pm", false),
        ("Prompt is too long", false),
        ("You're out of usage credits", false),
        ("Spending cap reached", false),
        ("You've hit your 5-hour limit", true),
        ("API Error: 529 Overloaded", true),
    ] {
        let limit = read(text, &now).unwrap();
        assert_eq!((limit.reset, limit.waits), (None, waits), "{text}");
    }
    assert!(read("You're out of usage credits · resets 9pm", &now).unwrap().waits);
}

/// Panes of eight client versions, recorded against a service that answers with the headers of each limit.
#[test]
fn messages_of_the_real_client_have_the_reset_that_was_sent() {
    let day = "2026-11-30T";
    for (seen, host, text, kind, expected) in [
        (
            "20:25:42",
            "UTC",
            "You've hit your 5-hour limit · resets 10:24pm (UTC)",
            Kind::UsageLimit,
            "2026-11-30T22:24:00Z",
        ),
        (
            "20:33:11",
            "UTC",
            "You've hit your 5-hour limit · resets 8:33pm (UTC)",
            Kind::UsageLimit,
            "2026-11-30T20:33:00Z",
        ),
        (
            "21:41:17",
            "UTC",
            "You've hit your 5-hour limit · resets 8:56pm (UTC)",
            Kind::UsageLimit,
            "2026-11-30T20:56:00Z",
        ),
        (
            "20:36:02",
            "Europe/Berlin",
            "You've hit your 5-hour limit · resets 11:35pm (Europe/Berlin)",
            Kind::UsageLimit,
            "2026-11-30T22:35:00Z",
        ),
        (
            "20:20:46",
            "UTC",
            "You've hit your weekly limit · resets 1:20am (UTC)",
            Kind::UsageLimit,
            "2026-12-01T01:20:00Z",
        ),
        (
            "20:20:59",
            "UTC",
            "You've hit your weekly limit · resets Dec 3, 8:20pm (UTC)",
            Kind::UsageLimit,
            "2026-12-03T20:20:00Z",
        ),
        (
            "20:35:03",
            "Europe/Warsaw",
            "You've hit your weekly limit · resets Dec 3, 9:34pm (Europe/Warsaw)",
            Kind::UsageLimit,
            "2026-12-03T20:34:00Z",
        ),
        (
            "20:20:59",
            "UTC",
            "You've hit your Opus limit · resets 4:20pm (UTC)",
            Kind::ModelLimit,
            "2026-12-01T16:20:00Z",
        ),
        (
            "20:21:15",
            "UTC",
            "You're out of usage credits · resets 4:21pm (UTC)",
            Kind::UsageLimit,
            "2026-12-01T16:21:00Z",
        ),
        (
            "20:21:31",
            "UTC",
            "You've hit your limit · resets 10:21pm (UTC)",
            Kind::UsageLimit,
            "2026-11-30T22:21:00Z",
        ),
        (
            "20:31:00",
            "America/New_York",
            "You're out of extra usage · resets 5:32pm (America/New_York)",
            Kind::UsageLimit,
            "2026-11-30T22:32:00Z",
        ),
        (
            "20:37:00",
            "America/New_York",
            "Spending cap reached resets 5:38pm",
            Kind::UsageLimit,
            "2026-11-30T22:38:00Z",
        ),
        (
            "20:37:00",
            "Europe/Warsaw",
            "Weekly limit reached ∙ resets Dec 3, 9:38pm",
            Kind::UsageLimit,
            "2026-12-03T20:38:00Z",
        ),
        (
            "20:37:00",
            "UTC",
            "Opus weekly limit reached ∙ resets 1:38am",
            Kind::ModelLimit,
            "2026-12-01T01:38:00Z",
        ),
    ] {
        let limit = read(text, &moment(&format!("{day}{seen}Z"), host)).unwrap();
        assert_eq!((limit.kind, limit.waits), (kind, true), "{text}");
        assert_eq!(limit.reset.unwrap().rfc3339(), expected, "{text}");
    }
}

#[test]
fn a_zone_that_is_not_known_is_the_hosts_and_said_so() {
    let berlin = moment("2026-12-18T10:00:00Z", "Europe/Berlin");
    for (zone, expected, assumed) in [
        ("", "2026-12-18T16:00:00Z", true),
        (" (Etc/Unknown)", "2026-12-18T16:00:00Z", true),
        (" (Mars/Olympus)", "2026-12-18T16:00:00Z", true),
        (" local time", "2026-12-18T16:00:00Z", true),
        (" CST", "2026-12-18T16:00:00Z", true),
        (" (Europe/Berlin)", "2026-12-18T16:00:00Z", false),
        (" (UTC)", "2026-12-18T17:00:00Z", false),
        (" UTC", "2026-12-18T17:00:00Z", false),
        (" +01:00", "2026-12-18T16:00:00Z", false),
    ] {
        let text = format!("Limit reached · resets 5pm{zone} · /upgrade");
        assert_eq!(reset(&text, &berlin), Some((expected.to_owned(), assumed)), "{text}");
    }
    let told = |text: &str| reset(text, &berlin).unwrap().1;
    assert!(!told("Claude AI usage limit reached|1797600000"), "Unix time needs no zone");
    assert!(!told("You've hit your limit · resets in 2h"), "a span needs no zone");
}

#[test]
fn a_host_without_a_known_zone_is_utc() {
    for host in [None, Some(""), Some("EST5EDT,M3.2.0"), Some("Nowhere/Else")] {
        let moment = Moment::parse("2026-07-08T12:00:00Z", host).unwrap();
        assert_eq!(reset("You've hit your limit · resets 3pm", &moment).unwrap().0, "2026-07-08T15:00:00Z");
    }
    assert!(Moment::parse("yesterday", None).is_none());
}

#[test]
fn a_time_that_just_passed_is_due_and_an_older_one_is_tomorrows() {
    for (text, hours, roll_days) in [
        ("You've hit your limit · resets 3pm", 3, 1),
        ("Claude usage limit reached. Your limit will reset at 3pm.", 3, 1),
        // These last days, so that a reset 23 hours ahead is an ordinary one.
        ("You've hit your Opus limit · resets 3pm", 1, 1),
        ("You're out of usage credits · resets 3pm", 1, 1),
        ("You're out of extra usage · resets 3pm", 1, 1),
        ("You've hit your weekly limit · resets 3pm", 1, 1),
        // These last some hours at most.
        ("You've hit your session limit · resets 3pm", 12, 1),
        ("You've hit your 5-hour limit · resets 3pm", 12, 1),
        ("5-hour limit reached ∙ resets 3pm", 12, 1),
        ("You've hit your weekly limit · resets Wed 3pm", 12, 7),
        ("You've hit your weekly limit · resets Wednesday at 3pm", 12, 7),
    ] {
        let at = instant("2026-07-08T15:00:00Z");
        let seen = |late: Duration| {
            let moment = Moment { now: at + late, host: chrono_tz::Tz::UTC };
            read(text, &moment).unwrap().reset.unwrap().at
        };
        let margin = Duration::hours(hours);
        let second = Duration::seconds(1);
        assert_eq!(seen(-second), at, "{text}: a second before");
        assert_eq!(seen(Duration::zero()), at, "{text}: now");
        assert_eq!(seen(second), at, "{text}: a second ago");
        assert_eq!(seen(margin - second), at, "{text}");
        assert_eq!(seen(margin), at, "{text}");
        assert_eq!(seen(margin + second), at + Duration::days(roll_days), "{text}");
    }
}

#[test]
fn seconds_that_the_client_cuts_off_do_not_make_it_tomorrow() {
    let late = moment("2026-11-30T20:33:59Z", "UTC");
    assert_eq!(
        reset("You've hit your 5-hour limit · resets 8:33pm (UTC)", &late).unwrap().0,
        "2026-11-30T20:33:00Z"
    );
}

#[test]
fn midnight_and_the_year_roll_over_in_the_zone_of_the_text() {
    for (now, host, form, expected) in [
        ("2026-07-03T21:10:00Z", "UTC", "4:20am (Europe/Warsaw)", "2026-07-04T02:20:00Z"),
        ("2026-11-20T21:00:00Z", "Europe/Paris", "12:30am", "2026-11-20T23:30:00Z"),
        ("2026-11-30T20:23:05Z", "UTC", "Dec 3, 10:22am (Pacific/Kiritimati)", "2026-12-02T20:22:00Z"),
        ("2026-12-30T05:00:00Z", "UTC", "Jan 2, 9am (Asia/Tokyo)", "2027-01-02T00:00:00Z"),
        ("2027-01-02T08:00:00Z", "UTC", "Dec 31, 9am", "2026-12-31T09:00:00Z"),
        ("2026-12-31T23:30:00Z", "UTC", "1am", "2027-01-01T01:00:00Z"),
        ("2026-12-31T23:30:00Z", "UTC", "Fri 1am", "2027-01-01T01:00:00Z"),
        ("2028-02-27T12:00:00Z", "UTC", "Feb 29, 9am", "2028-02-29T09:00:00Z"),
        ("2026-08-06T09:00:00Z", "America/Chicago", "Mon 12:00am", "2026-08-10T05:00:00Z"),
        ("2026-11-30T20:23:14Z", "UTC", "5:22pm (Etc/GMT+5)", "2026-11-30T22:22:00Z"),
    ] {
        let text = format!("You've hit your weekly limit · resets {form}");
        assert_eq!(reset(&text, &moment(now, host)).unwrap().0, expected, "{text}");
    }
}

#[test]
fn a_time_the_clocks_leave_out_is_the_moment_they_jump() {
    for (now, form, expected) in [
        ("2027-03-14T05:00:00Z", "2:30am (America/New_York)", "2027-03-14T07:00:00Z"),
        ("2027-03-14T05:00:00Z", "1:59am (America/New_York)", "2027-03-14T06:59:00Z"),
        ("2027-03-14T05:00:00Z", "3:00am (America/New_York)", "2027-03-14T07:00:00Z"),
        ("2026-03-29T00:10:00Z", "2:15am (Europe/Berlin)", "2026-03-29T01:00:00Z"),
        ("2026-10-03T15:00:00Z", "2:10am (Australia/Lord_Howe)", "2026-10-03T15:30:00Z"),
        ("2026-03-28T20:00:00Z", "Mar 29, 1:30am (Europe/Lisbon)", "2026-03-29T01:00:00Z"),
    ] {
        let text = format!("You've hit your session limit · resets {form}");
        assert_eq!(reset(&text, &moment(now, "UTC")).unwrap().0, expected, "{text}");
    }
}

#[test]
fn of_a_time_that_comes_twice_the_second_counts() {
    for (now, form, expected) in [
        ("2026-11-01T04:15:00Z", "1:30am (America/New_York)", "2026-11-01T06:30:00Z"),
        ("2026-11-01T04:15:00Z", "12:59am (America/New_York)", "2026-11-01T04:59:00Z"),
        ("2026-11-01T04:15:00Z", "2:00am (America/New_York)", "2026-11-01T07:00:00Z"),
        ("2026-10-24T22:00:00Z", "2:30am (Europe/Berlin)", "2026-10-25T01:30:00Z"),
        ("2026-04-04T13:00:00Z", "1:45am (Australia/Lord_Howe)", "2026-04-04T15:15:00Z"),
    ] {
        let text = format!("You've hit your session limit · resets {form}");
        assert_eq!(reset(&text, &moment(now, "UTC")).unwrap().0, expected, "{text}");
    }
}

#[test]
fn the_users_own_wordings_come_first() {
    let own: Vec<Wording> = serde_json::from_str(
        r#"[
            {"text": "allowance is  gone", "kind": "usage_limit"},
            {"text": "/^gateway .*(full|busy)/", "kind": "overload"},
            {"text": "Credit balance is too low", "kind": "usage_limit"}
        ]"#,
    )
    .unwrap();
    let wordings = Wordings::with(own);
    for (text, kind, at) in [
        ("Your ALLOWANCE is\n gone · resets 3pm", Some(Kind::UsageLimit), Some("2026-07-08T15:00:00Z")),
        ("Gateway eu-1 is busy, try again in 5m", Some(Kind::Overload), Some("2026-07-08T12:05:00Z")),
        ("the gateway is busy", None, None),
        ("Credit balance is too low", Some(Kind::UsageLimit), None),
        ("You've hit your Opus limit", Some(Kind::ModelLimit), None),
    ] {
        let limit = wordings.read(text, &wednesday_noon());
        assert_eq!(limit.map(|limit| limit.kind), kind, "{text}");
        assert_eq!(limit.and_then(|limit| limit.reset).map(|reset| reset.rfc3339()).as_deref(), at, "{text}");
    }
}

#[test]
fn a_bad_wording_is_named() {
    for (row, expected) in [
        (r#"{"text": " ", "kind": "usage_limit"}"#, "the wording is empty"),
        (r#"{"text": "//", "kind": "usage_limit"}"#, "the wording is empty"),
        (
            r#"{"text": "/a|(/", "kind": "usage_limit"}"#,
            r#"the wording "/a|(/" is no regular expression (unclosed group)"#,
        ),
        (r#"{"text": "/x*/", "kind": "usage_limit"}"#, r#"the wording "/x*/" fits every message"#),
        (r#"{"text": "/(\\w{1000}){1000}/", "kind": "usage_limit"}"#, "is no regular expression"),
        (r#"{"text": "x", "kind": "limit"}"#, "unknown variant `limit`, expected one of `usage_limit`"),
        (r#"{"text": "x"}"#, "missing field `kind`"),
        (r#"{"text": "x", "kind": "auth", "reset": 1}"#, "unknown field `reset`"),
    ] {
        let error = serde_json::from_str::<Wording>(row).unwrap_err().to_string();
        assert!(error.contains(expected), "{row}: {error}");
    }
}

/// Texts made of what messages are made of, and of noise.
fn any_text() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "You've hit your ",
        "session ",
        "Opus ",
        "limit",
        " reached",
        " · ",
        "resets ",
        "|",
        "at ",
        "in ",
        "3pm",
        "12:30",
        "25:61",
        "Feb 30",
        "Dec 3, ",
        "Mon ",
        "2027",
        " (",
        ")",
        "Europe/Oslo",
        "+14:00",
        "−99",
        "Z",
        "9223372036854775807",
        "1783600000",
        "h",
        "m",
        "retry-after",
        ": ",
        "try again ",
        "p.m.",
        "\u{202f}",
        "’",
        "ß",
        "İ",
        "🕒",
        "\0",
        ".",
        ",",
    ]);
    prop_oneof![
        any::<String>(),
        prop::collection::vec(parts.prop_map(str::to_owned).boxed(), 0..14).prop_map(|parts| parts.concat()),
    ]
}

/// Any zone of the database, any moment from 2020 to 2037.
fn any_moment() -> impl Strategy<Value = Moment> {
    (1_577_836_800_i64..2_145_916_800, prop::sample::select(chrono_tz::TZ_VARIANTS.to_vec()))
        .prop_map(|(now, host)| Moment { now: DateTime::from_timestamp(now, 0).unwrap(), host })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_without_panic(text in any_text(), moment in any_moment()) {
        let wordings = Wordings::default();
        let limit = wordings.read(&text, &moment);
        prop_assert_eq!(limit.map(|limit| limit.kind), wordings.kind(&text));
        if let Some(at) = limit.and_then(|limit| limit.reset).map(|reset| reset.at) {
            prop_assert!(at - moment.now <= Duration::days(366));
            prop_assert!(at >= instant("2020-01-01T00:00:00Z"));
        }
        if let Some(banner) = wordings.banner(&text, &moment) {
            prop_assert_eq!(Some(banner), limit);
        }
    }

    #[test]
    fn a_time_of_day_is_never_far(hour in 0_u32..24, minute in 0_u32..60, moment in any_moment()) {
        for (name, margin_hours) in [("session", 12), ("usage", 3), ("weekly", 1)] {
            let text = format!("You've hit your {name} limit · resets {hour:02}:{minute:02}");
            let at = read(&text, &moment).unwrap().reset.unwrap().at;
            let ahead = at - moment.now;
            // One hour and more: clocks may be put forward or back meanwhile, in one place by a day.
            prop_assert!(ahead >= -Duration::hours(margin_hours), "{} {}", text, ahead);
            prop_assert!(ahead <= Duration::hours(24 - margin_hours + 2), "{} {}", text, ahead);
            // Another reading than the text's is right only where that one does not exist.
            let local = at.with_timezone(&moment.host).format("%H:%M").to_string();
            let kept = local == format!("{hour:02}:{minute:02}");
            prop_assert!(kept || gap_before(at, moment.host), "{} {}", text, local);
        }
    }

    #[test]
    fn the_forms_of_an_hour_are_equal(hour in 0_u32..24, minute in 0_u32..60, moment in any_moment()) {
        let half = if hour < 12 { "am" } else { "pm" };
        let short = if hour % 12 == 0 { 12 } else { hour % 12 };
        let at = |form: String| read(&format!("You've hit your limit · resets {form}"), &moment).unwrap().reset.unwrap();
        let plain = at(format!("{hour:02}:{minute:02}"));
        prop_assert_eq!(at(format!("{short}:{minute:02}{half}")), plain);
        prop_assert_eq!(at(format!("{short}:{minute:02}\u{202f}{}", half.to_uppercase())), plain);
        prop_assert_eq!(at(format!("at  {short}:{minute:02} {}.m.", &half[..1])), plain);
        prop_assert_eq!(at(format!("{hour:02}:{minute:02} ({})", moment.host.name())).at, plain.at);
    }

    #[test]
    fn dates_with_a_year_are_exact(day in 1_i64..300, second in 0_i64..86_400, moment in any_moment()) {
        let at = moment.now + Duration::seconds(day * 86_400 + second);
        let at = at - Duration::seconds(at.timestamp().rem_euclid(60));
        for format in ["%b %-d, %Y, %-I:%M%P (UTC)", "%-d %B %Y at %H:%M UTC", "%Y-%m-%d %H:%M UTC", "%Y-%m-%dT%H:%M:%SZ", "%s"] {
            let text = format!("You've hit your weekly limit · resets {}", at.format(format));
            let reset = read(&text, &moment).unwrap().reset.unwrap();
            prop_assert_eq!((reset.at, reset.assumed_zone), (at, false), "{}", text);
        }
        // Without the year it is the nearest.
        if day < 180 {
            let text = format!("You've hit your weekly limit · resets {}", at.format("%b %-d, %-I:%M%P (UTC)"));
            prop_assert_eq!(read(&text, &moment).unwrap().reset.unwrap().at, at, "{}", text);
        }
    }

    #[test]
    fn case_and_spacing_do_not_matter(
        text in prop::sample::select(vec![
            "You've hit your session limit · resets 3:45pm (Europe/Oslo)",
            "Opus weekly limit reached ∙ resets Dec 3, 9:38pm",
            "Claude usage limit reached. Your limit will reset at Monday 1pm (UTC).",
            "429 Too Many Requests. Retry-After: 120",
            "Credit balance is too low",
        ]),
        blanks in prop::collection::vec(prop::sample::select(vec![" ", "  ", "\u{a0}", "\u{202f}", "\n", "\t"]), 12),
        upper in any::<u64>(),
        moment in any_moment(),
    ) {
        let mut blank = blanks.iter().cycle();
        let other: String = text.chars().enumerate().map(|(at, c)| match c {
            ' ' => (*blank.next().unwrap()).to_owned(),
            c if upper >> (at % 64) & 1 == 1 => c.to_uppercase().collect(),
            c => c.to_lowercase().collect(),
        }).collect();
        prop_assert_eq!(read(&other, &moment), read(text, &moment), "{}", other);
    }
}

/// Whether the clocks of a zone were put forward right before an instant.
fn gap_before(at: DateTime<Utc>, zone: chrono_tz::Tz) -> bool {
    use chrono::Offset as _;
    let offset = |at: DateTime<Utc>| at.with_timezone(&zone).offset().fix().local_minus_utc();
    offset(at) > offset(at - Duration::seconds(60))
}
