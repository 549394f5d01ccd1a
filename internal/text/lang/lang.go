// Package lang has the messages of haft's screens in other languages than English.
//
//	c, err := lang.Load(lang.Choose(flag, setting, os.Getenv))
//	c.T("%d of %d", at, all)
//
// The English text in the code is the key, so that code reads as what it shows, and English
// needs no catalogue: nil is it. Every other language is one file, NAME.json, read when it is
// chosen; a test keeps it complete. What a model or a tool says is not translated. Reasons of
// verdicts are built in English, for programs and the model: see [Catalogue.Sentence].
// A Catalogue is safe for concurrent use.
package lang

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/text/plural"
)

// A Text is a message in English, which may be a format. Constants of this type are what a
// catalogue has to have.
type Text string

// A Catalogue is the messages of a language; nil is English.
type Catalogue struct {
	name  string
	texts map[Text]string
}

//go:embed *.json
var files embed.FS

// Names are the languages there are.
func Names() []string {
	names := []string{"en"}
	list, _ := files.ReadDir(".") // what is embedded is there
	for _, f := range list {
		names = append(names, strings.TrimSuffix(f.Name(), ".json"))
	}
	return names
}

// Load reads the messages of a language.
func Load(name string) (*Catalogue, error) {
	if name == "en" || name == "" {
		return nil, nil
	}
	raw, err := files.ReadFile(name + ".json")
	if err != nil {
		return nil, fmt.Errorf("haft is not available in the language %q: choose one of %s", name, strings.Join(Names(), ", "))
	}
	c := &Catalogue{name: name}
	if err := json.Unmarshal(raw, &c.texts); err != nil {
		return nil, fmt.Errorf("read the messages in %s: %w", name, err)
	}
	return c, nil
}

// Name is what [Load] calls the language.
func (c *Catalogue) Name() string {
	if c == nil {
		return "en"
	}
	return c.name
}

// Choose says which language is meant: by the flag, the setting, or the locale of the
// environment, the first that says something. A locale without messages is English.
func Choose(flag, setting string, getenv func(string) string) string {
	for _, said := range []string{flag, setting} {
		if said != "" {
			return said
		}
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if locale := getenv(name); locale != "" {
			return ofLocale(locale)
		}
	}
	return "en"
}

// ofLocale is the language of a locale such as zh_CN.UTF-8. The Chinese messages are in
// simplified characters, which are not what is read in Taiwan and Hong Kong.
func ofLocale(locale string) string {
	name, _, _ := strings.Cut(locale, ".")
	name = strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	switch {
	case name == "zh", strings.HasPrefix(name, "zh_cn"), strings.HasPrefix(name, "zh_sg"), strings.HasPrefix(name, "zh_hans"):
		return "zh"
	}
	return "en"
}

// An Error is an error whose message can be translated; see [Catalogue.Error].
type Error struct {
	text Text
	args []any
}

// Errorf returns an error with a message.
func Errorf(text Text, args ...any) *Error { return &Error{text, args} }

// Error is the message in English.
func (e *Error) Error() string { return (*Catalogue)(nil).T(e.text, e.args...) }

// Error is the message of an error; other errors than an [*Error] have one language only.
func (c *Catalogue) Error(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	return strings.Replace(err.Error(), e.Error(), c.T(e.text, e.args...), 1)
}

// T is a message with its arguments filled in; one that is not there is English. Arguments
// that are errors are translated too.
func (c *Catalogue) T(text Text, args ...any) string {
	s := string(text)
	if c != nil {
		if t, ok := c.texts[text]; ok {
			s = t
		}
	}
	if len(args) == 0 {
		return s
	}
	shown := slices.Clone(args)
	for i, arg := range shown {
		if err, ok := arg.(error); ok && err != nil {
			shown[i] = c.Error(err)
		}
	}
	return fmt.Sprintf(s, shown...)
}

// Count is a number with its noun.
func (c *Catalogue) Count(n int, noun Text) string {
	if c != nil {
		if t, ok := c.texts[noun]; ok {
			return fmt.Sprintf("%d %s", n, t)
		}
	}
	return plural.Of(n, string(noun))
}

// built are the sentences that lower layers build for users, in English: a verdict's reason
// is kept in the journal, sent to programs and told to the model as it is. A screen shows
// them by [Catalogue.Sentence]. A test judges a corpus of calls and finds a reason that is
// not in this list.
var built = []Text{
	"a rule denies it",
	"a rule requires asking",
	"a rule allows it",
	"plan mode allows no changes",
	"plan mode allows no changes: %s",
	"plan mode allows no changes, and %s",
	"this is not known to be read-only",
	"it may destroy %s",
	"it is for the user to decide",
	"the session bypasses permissions",
	"it changes nothing",
	"it runs in a sandbox without write access or network",
	"it is confined to the project (sandbox.autoAllowBashIfSandboxed)",
	"in %s mode an edit needs approval",
	"no rule allows it",
	"%s, and dontAsk mode never asks",
	"%s; it is a link, and its target will be changed: %s",
	"%s wants it: %s",
	"the session accepts edits in the project",
	"it is the session's plan",
	"it asks to run without the sandbox",
	"haft's own rules and trust can only be changed by the user",
	"the address is ambiguous",
	"the address is ambiguous, so haft cannot tell whether a deny rule covers it",
	"a hook denied it",
	"a hook requires asking",
	"a hook allowed it",
	"hook %s",
	"the tool rejects it",
	"the tool itself says that it is harmless",
	"no permission rules are set up",
	"it needs approval",
	"the user denied it",
	"the user allowed it",
	"the user allowed it once",
	"the user allowed it for this session",
	"the user allowed it permanently",
	"the user allowed all edits in the project",
	"the demo allows what it just showed",
	"the classifier considers it safe",
	"the classifier does not consider it safe",
	"it is inside the project",
	"it edits a file",
	"the agent gets its own worktree",
	"each of the agent's calls is judged separately",
	"the user decides when to plan",
	"the user approves a plan",
	"it is a question to the user",
	"the agent works in a copy of the repository",
	"it changed %s: %s",
	"%s (and %s more)",
	"no rule allows this change",
	"it is protected: %s",
	"it is a link that leads out of the project",
	"it would change %s",
	"a rule requires asking about changes to %s",
	"preview: changed nothing",
	"preview: a rule allows what it changed",
	"preview: the session accepts edits in the project",
	"preview: the changes to %s of %s files were dropped",
	"%s is outside the project",
	"a symbolic link in %s leads out of the project, to %s",
	"%s may contain credentials",
	"%s in it may contain credentials; Grep leaves it out",
	"%s is a link to a file that may contain credentials",
	"%s may match the name of a file that contains credentials",
	"it searches a folder that may contain files covered by the rule %s (the Grep tool would skip them)",
	"it searches a folder that contains %s, which the rule %s covers (the Grep tool would skip it)",
	"%s matches %s, which the rule covers",
	"a private key",
	"a credential store",
	"a file with secrets",
	"addresses in a repository's settings may contain a password",
	"the system's accounts",
	"a system settings file",
	"a command history, which may contain passwords",
	"infrastructure state, which contains passwords in plain text",
	"version control files can run programs",
	"coding agent settings can run programs and grant permissions",
	"other coding agents follow it from their start",
	"editor settings can run programs",
	"build pipelines run with the repository's secrets",
	"hooks run programs",
	"a shell start-up file",
	"build and package tool settings can run programs",
	"ssh settings can run programs",
	"cloud tool settings can run programs",
	"installed dependencies",
	"a file of a running process",
	"a kernel interface",
	"haft keeps its record of writes here, and the contents they replaced",
	"only haft itself may change its own settings, trust and logs",
	"files that the session saved may be read but not changed",
	"a hook runs this file",
	"the files of an embedded bare repository can run programs",
	"the path is empty",
	"the path contains a NUL byte",
	"this is a URL, not a path",
	"the path contains control characters",
	"the path contains invisible characters",
	"the path contains backslashes, which separate names on Windows",
	"the path contains backslashes, which separate names on Windows: %s",
	"the folder contains more than the project",
	"the folder is too large to check for links that leave it",
	"the root directory",
	"the home directory",
	"the project directory",
	"the git repository",
	"the working directory or one above it",
	"everything in %s",
	"a directory whose name is only known at run time",
	"%s in a directory that is only known at run time",
	"what is running on this machine",
	"what is running on this machine, with a fork bomb",
	"the file system on %s",
	"the data on %s",
	"the permissions of %s",
	"%s is not known to be read-only",
	"not known to be read-only",
	"not known to be read-only without %s",
	"%s without a subcommand is not known to be read-only",
	"this part is not known to be read-only: %s",
	"these parts are not known to be read-only: %s",
	"the flag %s is not known to be harmless",
	"%s is not known to be harmless",
	"a flag that is not known to be harmless",
	"a flag that is only known at run time",
	"the flag %s takes no value",
	"the flag %s needs a value",
	"the value of %s must be a separate word",
	"the value of %s could expand to several words",
	"the value of %s looks like a flag",
	"a word that is only known at run time could become a flag",
	"a word that could expand to several",
	"%s after an operand is read differently by programs",
	"does not accept the operand %s",
	"%s is not known to be a harmless local file",
	"%s is not known to be a harmless certificate",
	"%s is not known to be a harmless path in a document",
	"%s is not known to be a harmless format",
	"%s is not known to be a harmless file name without line breaks",
	"%s is not known to be a harmless revision",
	"%s is not known to be a harmless number",
	"%s is not known to be a harmless sed script",
	"%s is not known to be a harmless awk program",
	"%s is not known to be a harmless file or assignment",
	"%s is not known to be a harmless jq filter",
	"%s is not known to be a harmless word",
	"the %s must be given literally",
	"the %s is missing",
	"the subcommand is not known before it runs",
	"the program's name is only known at run time",
	"the program's name is not known before it runs",
	"%s is not a system program",
	"%s is in a writable directory",
	"%s is found in a writable directory: %s",
	"%s is found in %s, which others may write to",
	"%s is not the %s found on PATH",
	"%s cannot run %s",
	"the variable %s may change what runs",
	"the value of $%s may be a secret",
	"the value of $%s is not known",
	"the value assigned to %s is not known before it runs",
	"some words are only known at run time",
	"it sets a variable for later commands",
	"%s changes or prints variables",
	"it defines a function",
	"it leaves a process running in the background",
	"its output goes to %s",
	"it writes to %s",
	"it writes %s",
	"it writes to a device",
	"it writes to a file that is not known before it runs",
	"it opens a network connection",
	"cd %s leaves the project",
	"cd %s leaves the project through a symbolic link",
	"cd to a directory that is only known at run time",
	"git in another directory uses the configuration there",
	"git would use settings that cannot be read in %s",
	"git would use %s in %s",
	"%s may print any tracked file (%s)",
	"the repository's settings may make git run a program",
	"haft cannot list them first",
	"the files are only known at run time",
	"the files that it reads are only known at run time",
	"the files that a pattern matches are only known at run time",
	"%s prints settings, and %s holds a password",
	"the shell syntax cannot be parsed: %s",
	"the command is empty",
	"the command is nested too deeply",
	"the command has too many parts",
	"the command is longer than %s bytes",
	"the command is not valid UTF-8",
	"the command contains a control character",
	"the command contains an invisible or look-alike blank character",
	"part of the command is far off screen",
	"a comment ends in a backslash",
	"haft does not understand arithmetic commands",
	"haft does not understand commands of this kind",
	"a brace expression expands to too many words",
	"a loop that may never end",
	"a loop whose number of iterations is not known",
	"a loop variable is set again inside the loop",
	"the loop sets a variable that affects other commands or is also set elsewhere",
	"a parameter expansion with an operator",
	"a process substitution that is written to",
	"a redirection to a named file descriptor",
	"a script that is not given literally",
	"a test that evaluates its operand",
	"a test that evaluates its operands as arithmetic",
	"a test that haft does not understand",
	"an assignment to an array or an element of one",
	"arithmetic on something other than a plain number",
	"case with a fall-through",
	"%s is read differently by shells",
	"cd behind a wrapper",
	"time with a flag",
	"time after a pipe",
	"read sets a variable",
	"set changes the shell, and no command follows",
	"too many wrappers",
	"shell built-ins",
	"no model is configured: %s. Do one of these:",
	"no model is configured: %s",
	"there is no key for %s",
	"set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) to use Claude",
	"run haft without -p, or type /login in a conversation: haft asks which model to use, and tests it",
	"use a local model: --model ollama/qwen3, or set OPENAI_BASE_URL and --model for any other server",
	"run haft demo, which needs neither a key nor a network",
}

// Sentence is an English sentence that another layer built, such as the reason of a verdict,
// in the language of the catalogue. What was filled in stays as it is, unless it is such a
// sentence itself. A sentence that is not known stays English.
func (c *Catalogue) Sentence(english string) string {
	if c == nil {
		return english
	}
	if said, ok := c.built(english); ok {
		return said
	}
	for at := 0; ; at += len(": ") { // what it is about may come first
		i := strings.Index(english[at:], ": ")
		if i < 0 {
			return english
		}
		at += i
		// Only the forms are tried here, not Sentence: this loop already comes to every later ": ".
		if said, ok := c.built(english[at+len(": "):]); ok {
			return c.T("%s: %s", english[:at], said)
		}
	}
}

// built is a sentence that is one of the forms as a whole, with its arguments, in the language of the catalogue.
func (c *Catalogue) built(english string) (said string, ok bool) {
	for _, f := range forms() {
		if args, ok := f.match(english); ok {
			for i, arg := range args {
				args[i] = c.Sentence(arg.(string))
			}
			return c.T(f.text, args...), true
		}
	}
	return english, false
}

// forms are the sentences that are built, the most exact ones first.
var forms = sync.OnceValue(func() []form {
	var list []form
	for _, text := range built {
		list = append(list, form{text, strings.Split(string(text), "%s")})
	}
	slices.SortStableFunc(list, func(a, b form) int { return len(strings.Join(b.parts, "")) - len(strings.Join(a.parts, "")) })
	return list
})
