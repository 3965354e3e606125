//! Waits between the tries of an MCP server: told to the agent, never slept (FORMATS 3.6).

/// Number of failures in a row after which waiting is given up and the fallback is named.
pub const LIMIT: u32 = 5;

/// Returns the wait in seconds before the try that follows failure number `attempt`: 1, 2, 4, 8, then 16.
///
/// Attempts count from 1; 0 is read as 1, everything past [`LIMIT`] waits as long as the last one.
pub fn wait_s(attempt: u32) -> u64 {
    1 << (attempt.clamp(1, LIMIT) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_limit() {
        let waits: Vec<u64> = [0, 1, 2, 3, 4, 5, 6, u32::MAX].into_iter().map(wait_s).collect();
        assert_eq!(waits, [1, 1, 2, 4, 8, 16, 16, 16]);
    }
}
