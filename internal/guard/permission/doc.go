// Package permission decides whether a call may run: by rules, by the mode of the
// session, and by what is known about commands and paths. It never asks.
//
// A [Policy] is everything that decides, as one immutable value. [Policy.Decide] is a
// pure function of a call; the runtime, the explanations on the command line and the
// tests all use it. An [Engine] holds the policy of a running session, whose mode and
// granted rules change.
//
// The order is fixed:
//
//  1. what denies, including plan mode for everything that writes
//  2. rules that ask
//  3. what no rule may approve by itself: calls that are left to a user, critical
//     removals, protected paths
//  4. the mode
//  5. allow rules
//  6. what is read-only
//  7. everything else is asked about
//
// Deny and ask rules match any part of a command in any spelling that can be parsed; an
// allow rule must account for every part.
//
// Trust: an attacker may have chosen the call, the paths in it and the project's
// settings. A project's allow rules count only once the project is trusted, which the
// caller says; rules that restrict always count. Without a sandbox, a deny rule is a
// guard rail and not a wall: a program that may run can do what the rule forbids by
// other means.
//
// Policies and engines are safe for concurrent use.
package permission
