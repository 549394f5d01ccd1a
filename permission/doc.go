// Package permission decides whether a call may run: by rules, by the mode of
// the session and by what is known about commands and paths, never by asking.
//
// A [Policy] is everything that decides, as one immutable value, and
// [Policy.Decide] is a pure function of a call: the runtime, the explanation on
// the command line and the tests all use it. A [Engine] holds the policy of a
// running session, whose mode and granted rules change.
//
// The order is fixed. A denial is looked for first, plan mode's of what writes
// included, then a rule that asks, then what no rule may approve by itself (what is
// left to a user, a critical removal, a protected path), then the mode, then allow rules, then what is read-only by itself; whatever is left
// is asked. Deny and ask rules match any part of a command in any spelling that
// can be read; an allow rule must account for every part.
//
// Trust: the call, the paths in it and the project's settings may be chosen by an
// attacker. Rules of a project count as allow rules only once the project is
// trusted, which the caller says; rules that tighten count always. Without a
// sandbox a deny rule is a guard rail and not a wall: a program that is allowed to
// run can do what the rule forbids by other means.
//
// Policies are safe for concurrent use, engines too.
package permission
