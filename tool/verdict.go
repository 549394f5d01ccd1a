package tool

import (
	"encoding/json"
	"strings"
)

// A Verdict says whether a call may run, and why.
type Verdict struct {
	Behavior Behavior
	// Message is for the model, or for the user who is asked.
	Message string
	// Reason is what decided: a rule, a mode, a user.
	Reason string
	// Rule is the rule that decided, and Origin its file and line.
	Rule, Origin string
	// Input replaces the call's input; nil keeps it.
	Input json.RawMessage
	// Approved is the digest of the change that the call was approved for, if the user who
	// approved it was shown one; see [Preview.Digest].
	Approved string
	// Confinement is what the kernel limits the call to if it runs; "" for calls that start
	// no command. For an Ask, it is what an approval leads to.
	Confinement Confinement
	// Hidden are files and folders that the call's command must not see: rules keep them from
	// being read, and no one is asked about the command.
	Hidden []string
	// Foreground says that the call's command must end with the call, because a file that
	// rules keep from being read may appear after the command has started.
	Foreground bool
	// Real is the physical path of the file that the tool looked at for its own view. The
	// call fails if the path leads elsewhere when it runs, so the judge must decide about
	// this file; "" if the tool does not say.
	Real string
	// Dropped are the parts of the change that an allowed call does not make, because
	// nothing allows them and no one is asked. See [Preview.Ran].
	Dropped []Dropped
	// Suggestions are rules that together would decide the next such call.
	Suggestions []Suggestion
	// AllowedIn is the permission mode in which this Ask would have been an Allow; "" for
	// none.
	AllowedIn string
	// NeedsPerson reserves an Ask for a user: no rule, mode, hook or classifier may allow
	// the call instead.
	NeedsPerson bool
	// Unasked says of a denial that a user would have been asked, but no one was there or
	// the session does not ask.
	Unasked bool
	// Interrupt ends the turn after a denial.
	Interrupt bool
	// Grants are changes of the permissions that come with the answer to an Ask. They are
	// made only if the answer counts.
	Grants []Grant
	// By names the device or user that answered an Ask, if that is known.
	By string
}

// Remedy is the sentence that names the rules that would allow the next such call, with a
// blank before it; "" if there are none.
func (v Verdict) Remedy() string {
	var rules []string
	for _, s := range v.Suggestions {
		rules = append(rules, s.Rule)
	}
	switch len(rules) {
	case 0:
		return ""
	case 1:
		return " The rule " + rules[0] + " would allow it."
	}
	return " These rules together would allow it: " + strings.Join(rules, ", ") + "."
}

// A Case is a call that waits for its verdict.
type Case struct {
	Tool *Tool
	Call *Call
	// Question is the id of the question about the call; "" while no one is asked.
	Question string
	// Own is the tool's view, Hook what the hooks said.
	Own, Hook Verdict
	// Preview is what the call would change, for those who are asked about it; nil if that
	// is not known. Unclear says why, if the tool should know.
	Preview *Preview
	Unclear error
	// Looked says that no more than Preview and Unclear can be known.
	Looked bool
	// Restorable says that all the call does is change files, and that a rewind of the
	// session restores all of them.
	Restorable bool
}

// Ran reports whether the call has run where its effects reach nothing, so that it can be
// judged by what it changed.
func (c *Case) Ran() bool { return c.Preview != nil && c.Preview.Ran }

// A Dropped is a file that a call would change and does not.
type Dropped struct {
	Path string
	Why  string
}

// Behavior is the core of a verdict.
type Behavior int

const (
	// NoView leaves the decision to others.
	NoView Behavior = iota
	Allow
	Ask
	Deny
)

func (b Behavior) String() string {
	switch b {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	case Deny:
		return "deny"
	}
	return "no view"
}

// A Suggestion is a rule that a user may keep.
type Suggestion struct {
	Rule     string   // such as Bash(git diff:*)
	Behavior Behavior // what the rule would do
	Scope    string   // where to keep it: session, local, project or user
}

// A Grant is a change of the permissions of a session.
type Grant struct {
	Change GrantChange
	// Rules are those to add or remove, which allow, deny or ask; in replaceRules, those that
	// the session's own rules of that behavior are replaced by.
	Rules    []string
	Behavior Behavior
	// Scope says where the rules are kept: session, local, project or user.
	Scope string
	// Mode is the new permission mode.
	Mode string
	// Folders are those that tools may use, or no longer may.
	Folders []string
}

// A GrantChange says what a [Grant] does.
type GrantChange string

const (
	AddRules      GrantChange = "addRules"
	RemoveRules   GrantChange = "removeRules"
	ReplaceRules  GrantChange = "replaceRules"
	SetMode       GrantChange = "setMode"
	AddFolders    GrantChange = "addDirectories"
	RemoveFolders GrantChange = "removeDirectories"
)
