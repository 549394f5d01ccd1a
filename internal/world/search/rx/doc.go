// Package rx matches ripgrep's regular expressions against bytes.
//
// The syntax is that of Rust's regex crate as ripgrep uses it: Unicode \w \d \s
// and \b, nested classes with && -- and ~~, inline flags, no look-around and no
// back-references. A [Pattern] answers three questions about a buffer: does it
// hold a match ([Matcher.Next]), which spans match ([Matcher.Spans]), and which
// literals must any match contain ([Pattern.Required], for an index).
//
// Matching works on bytes: the pattern becomes a byte automaton whose classes are
// UTF-8 tries, run as a lazily built DFA. Bytes that are not UTF-8 match nothing
// but themselves, as in ripgrep. A \b next to a non-ASCII byte leaves the DFA for a
// slower simulation of that line.
//
// Two things are more lenient than ripgrep, on purpose: `$` also matches before
// "\r\n", and a brace that does not form a repetition is a literal, so that
// `interface{}` finds itself.
//
// A Pattern is immutable and safe for concurrent use. A [Matcher] belongs to one
// goroutine at a time: take it with [Pattern.Matcher], give it back with
// [Pattern.Release].
package rx
