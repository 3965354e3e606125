//! What a dead session knew: from its transcript to a hand-over document.
