package permission

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// A Rule allows, asks for or denies calls that match it.
type Rule struct {
	Text     string // as it is written: Tool or Tool(what)
	Behavior tool.Behavior
	Origin   settings.Origin // where it is written

	name    string
	spec    string // "" matches every call of the tool
	command *textPattern
	words   *wordsPattern // in a rule that denies or asks, the command's words with options in any order
	path    *pathPattern

	// in a rule that denies or asks and has quotes, which parsed commands lack: the
	// command without any
	unquoted *textPattern
	domain   *domainPattern
	param    *paramPattern
	within   *Rule // about edits: the condition of a rule about commands; nil for none
}

// Rules returns every rule of the settings.
func Rules(s *settings.Settings) []Rule {
	var rules []Rule
	for _, b := range []tool.Behavior{tool.Deny, tool.Ask, tool.Allow} {
		for _, r := range s.Rules(b) {
			rules = append(rules, Rule{Text: r.Text, Behavior: b, Origin: r.Origin})
		}
	}
	return rules
}

// A RuleProblem is a rule that cannot be used. It never allows more; the other rules stay
// in force.
type RuleProblem struct {
	Rule Rule
	Err  error
}

func (p RuleProblem) String() string {
	return fmt.Sprintf("%s rule %q (%s) is ignored: %v", p.Rule.Behavior, p.Rule.Text, p.Rule.Origin, p.Err)
}

// Check reports what is wrong with the rule, before it is saved.
func (r Rule) Check() error { return r.compile() }

// Tool is the name of the tool that the rule is about, or a pattern of names; "" if the
// rule cannot be used.
func (r Rule) Tool() string {
	if r.compile() != nil {
		return ""
	}
	return r.name
}

// compile reads the rule's text.
func (r *Rule) compile() error {
	text, err := r.compileCondition(strings.TrimSpace(r.Text))
	if err != nil {
		return err
	}
	name, spec, hasSpec := strings.Cut(text, "(")
	if hasSpec {
		if !strings.HasSuffix(spec, ")") {
			return errors.New("the closing parenthesis is missing")
		}
		spec = strings.TrimSuffix(spec, ")")
		if strings.TrimSpace(spec) == "" {
			return errors.New("the parentheses are empty; write only the tool's name to match every call")
		}
	} else if strings.Contains(name, ")") {
		return errors.New("the opening parenthesis is missing")
	}
	r.name, r.spec = canonical(strings.TrimSpace(name)), spec
	if strings.TrimSpace(spec) == "*" && kindOf(r.name) != commandTool && (r.Behavior != tool.Allow || kindOf(r.name) != editTool) {
		r.spec, hasSpec = "", false // who allows Edit(*) has named no file outside the folder
	}
	if err := r.checkName(); err != nil {
		return err
	}
	if r.within != nil && kindOf(r.name) != commandTool {
		return errors.New("only rules about Bash may have a condition about changes")
	}
	if !hasSpec {
		return nil
	}
	return r.compileSpec()
}

// condition begins the condition on the changes of a command, as in Bash(make:*) if
// Edit(build/**).
const condition = " if " + editRule + "("

// compileCondition takes the condition from the end of a rule and returns the rest.
func (r *Rule) compileCondition(text string) (rest string, err error) {
	i := strings.LastIndex(text, condition)
	if i < 0 || strings.Contains(text[:i], "(") && !strings.HasSuffix(text[:i], ")") {
		return text, nil
	}
	if r.Behavior != tool.Allow {
		return "", errors.New("only allow rules may have a condition about changes; a deny rule for paths, such as Edit(secrets/**), also applies to what commands change")
	}
	within := &Rule{Text: strings.TrimPrefix(text[i:], " if "), Behavior: tool.Allow, Origin: r.Origin}
	if err := within.compile(); err != nil {
		return "", fmt.Errorf("the condition %s: %w", within.Text, err)
	}
	r.within = within
	return text[:i], nil
}

func (r *Rule) checkName() error {
	if r.name == "" {
		return errors.New("it does not name a tool")
	}
	if _, err := path.Match(r.name, ""); err != nil {
		return fmt.Errorf("the tool's name is not a valid pattern: %w", err)
	}
	if r.Behavior != tool.Allow || !strings.ContainsAny(r.name, "*?[") {
		return nil
	}
	// What an allow rule covers must not grow when a server is added.
	server, _, isTool := strings.Cut(strings.TrimPrefix(r.name, "mcp__"), "__")
	if !strings.HasPrefix(r.name, "mcp__") || !isTool || strings.ContainsAny(server, "*?[") {
		return errors.New("an allow rule must name a tool, or an MCP server as in mcp__server__*")
	}
	return nil
}

func (r *Rule) compileSpec() (err error) {
	switch kindOf(r.name) {
	case commandTool:
		if strings.HasPrefix(r.spec, "command:") {
			return errors.New("write only the command, without \"command:\"")
		}
		if named, err := r.compileParam(); named || err != nil {
			return err
		}
		r.compileCommand(r.spec)
	case readTool, editTool:
		if r.Behavior != tool.Allow { // who denies Write(p) does not want p to be edited either
			r.name = pathRuleName(r.name)
		}
		r.path, err = newPathPattern(r.spec, r.Behavior)
	case webTool:
		if named, err := r.compileParam(); named || err != nil {
			return err
		}
		r.domain, err = newDomainPattern(r.spec)
	default:
		r.param = newParamPattern(r.spec)
	}
	return err
}

func (r *Rule) compileCommand(spec string) {
	r.command = newTextPattern(spec)
	if r.Behavior == tool.Allow {
		return
	}
	r.words = newWordsPattern(r.command)
	if r.command.quotes() {
		r.unquoted = newTextPattern(unquoted.Replace(spec))
	}
}

// pathRuleName is the name under which rules about paths cover all tools like this one.
func pathRuleName(name string) string {
	if kindOf(name) == readTool {
		return readRule
	}
	return editRule
}

// Hint says how a rule about paths is understood that names one of several file tools; "" if
// there is nothing to say.
func (r Rule) Hint() string {
	named, _, _ := strings.Cut(strings.TrimSpace(r.Text), "(")
	named = canonical(strings.TrimSpace(named))
	if r.compile() != nil || r.path == nil || named == readRule || named == editRule {
		return ""
	}
	if r.Behavior == tool.Allow {
		return fmt.Sprintf("it covers only %s; %s(…) covers all file tools of its kind", named, pathRuleName(named))
	}
	return fmt.Sprintf("it is read as %s(%s), which covers all file tools of its kind", r.name, r.spec)
}

// parameters of the tools whose rules are otherwise about a command or an address.
var parameters = map[string][]string{
	"Bash":     {"description", "timeout", "run_in_background", "dangerouslyDisableSandbox"},
	"WebFetch": {"prompt", "url"},
}

var paramLike = lazyregexp.New(`^([A-Za-z_]+):([^ *]+)$`)

// compileParam parses a spec of the form parameter:value. A spec of that form that names no
// parameter would match nothing, so it is an error.
func (r *Rule) compileParam() (named bool, err error) {
	name, value, ok := strings.Cut(r.spec, ":")
	if ok && value != "*" && value != "" && slices.Contains(parameters[r.name], name) {
		r.param = &paramPattern{name: name, value: newTextPattern(value), whole: newTextPattern(r.spec)}
		return true, nil
	}
	if m := paramLike.FindStringSubmatch(r.spec); m != nil && r.name == "Bash" && r.Behavior != tool.Allow {
		return false, fmt.Errorf("%s has no parameter %q, only %s; write a command as you would type it", r.name, m[1], strings.Join(parameters[r.name], ", "))
	}
	return false, nil
}

// names reports whether the rule is about a tool of this name.
func (r *Rule) names(name string) bool {
	if r.name == name {
		return true
	}
	if server, ok := strings.CutPrefix(name, "mcp__"); ok {
		// A server's name alone covers all its tools.
		server, _, _ = strings.Cut(server, "__")
		if r.name == "mcp__"+server {
			return true
		}
	}
	ok, err := path.Match(r.name, name)
	return err == nil && ok && strings.ContainsAny(r.name, "*?[")
}

// spellings returns what a rule about commands says in other words. Claude Code saves rules that
// allow with a backslash before each parenthesis and each backslash, and a parsed command has
// the home folder for ~.
func (r *Rule) spellings(home string) (others []*Rule) {
	if r.command == nil {
		return nil
	}
	specs := []string{r.spec}
	if r.Behavior == tool.Allow {
		specs = append(specs, unescaped.Replace(r.spec))
	}
	for _, spec := range specs {
		specs = append(specs, atHome(spec, home))
	}
	slices.Sort(specs)
	for _, spec := range slices.Compact(specs) {
		if spec != r.spec {
			other := *r
			other.compileCommand(spec)
			others = append(others, &other)
		}
	}
	return others
}

var unescaped = strings.NewReplacer(`\\`, `\`, `\(`, `(`, `\)`, `)`)

// atHome replaces the home folder at the beginning of words by its path.
func atHome(spec, home string) string {
	words := strings.Split(spec, " ")
	for i, word := range words {
		for _, name := range []string{"~", "$HOME", "${HOME}"} {
			if rest, ok := strings.CutPrefix(word, name); ok && home != "" && (rest == "" || rest == ":*" || rest[0] == '/') {
				words[i] = home + rest
			}
		}
	}
	return strings.Join(words, " ")
}

// allowsCommand reports whether an allow rule covers a command whose words are known.
func (r *Rule) allowsCommand(c shell.Command) bool {
	switch {
	case !r.names("Bash"):
		return false
	case r.command == nil:
		return r.spec == "" // a rule about a parameter says nothing about the command
	}
	exact := r.command.exact()
	switch {
	case !exact && shell.GitRuns(c.Words) && !strings.HasSuffix(r.command.source, "*"): // its stars stand for words of git's commands
		return false
	case !exact && c.ExactOnly:
		return false
	case c.Wrapped != "" && len(c.Assigns) == 0 && r.command.matches(c.Wrapped): // and so is about what comes from the input
		return true
	case exact && c.More:
		return false // it is about these words and no others
	case c.Source == "" || strings.ContainsAny(c.Source, "$`"): // which the rest of the command may set
	case exact && r.command.source == c.Source:
		return true
	case !exact && r.command.quotes() && r.command.matches(oneBlank(c.Source)):
		return true
	}
	return r.command.matches(fullText(c))
}

// oneBlank writes a command as patterns have it: with single blanks.
func oneBlank(command string) string { return strings.Join(strings.Fields(command), " ") }

// unquoted takes quotes away.
var unquoted = strings.NewReplacer(`"`, "", `'`, "", `\`, "")

// basesInTrees returns the folder that the pattern of a rule starts from, and the same folder
// in each worktree.
func (r *Rule) basesInTrees(at places) []string {
	base := r.base(at)
	if base == "" {
		return nil
	}
	bases := []string{base}
	for top := base; top != "/"; top = filepath.Dir(top) {
		found, _ := os.ReadDir(filepath.Join(top, guard.Worktrees)) // most folders have none
		for _, tree := range found {
			bases = append(bases, filepath.Join(top, guard.Worktrees, tree.Name(), strings.TrimPrefix(base, top)))
		}
	}
	return bases
}

// base returns the folder that the pattern of a rule about paths starts from; "" if there is
// none.
func (r *Rule) base(at places) string {
	switch r.path.anchor {
	case fromRoot:
		return "/"
	case fromHome:
		return at.home
	case fromSettings:
		if r.Origin.Source == settings.User {
			return path.Join(at.home, ".claude")
		}
		return at.project
	}
	return at.start
}

// original returns the file that one in a worktree is a version of, and the root of that
// worktree.
func original(file string) (name, root string, ok bool) {
	before, after, ok := strings.Cut(file+"/", "/"+guard.Worktrees+"/")
	if !ok {
		return "", "", false
	}
	tree, rest, _ := strings.Cut(after, "/")
	return path.Join("/", before, rest), path.Join("/", before, guard.Worktrees, tree), true
}

// coversPath reports whether the rule covers a file. A rule that denies or asks must match
// one of its names; a rule that allows must match both.
func (r *Rule) coversPath(f guard.Facts, p *Policy) bool {
	if r.path == nil {
		return true
	}
	if r.Behavior == tool.Allow {
		return r.matches(f.Path, p.at) && r.matches(f.Real, p.real)
	}
	return r.matches(f.Path, p.at) || r.matches(f.Real, p.real)
}

// matches reports whether the rule is about a file. What it says about a file holds for the
// file's versions in worktrees as well; what it allows holds only for those who work there.
func (r *Rule) matches(file string, at places) bool {
	base, fold := r.base(at), r.Behavior != tool.Allow
	if base == "" {
		return false
	}
	if r.path.matches(file, base, fold) {
		return true
	}
	name, root, ok := original(file)
	return ok && (r.Behavior != tool.Allow || pathin.Contains(root, at.cwd)) && r.path.matches(name, base, fold)
}

// tooBroadForAuto reports whether an allow rule would let a session in auto mode run
// anything: all commands, an interpreter with any argument, or code that is not written
// out.
func (r *Rule) tooBroadForAuto() bool {
	if r.name == codeTool {
		return r.param == nil || r.param.name != "" || !r.param.whole.exact()
	}
	if r.name != "Bash" {
		return false
	}
	if r.command == nil || r.command.blanket() {
		return true
	}
	return !r.command.exact() && runsOthers(firstWord(r.command.parts[0]))
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return filepath.Base(word)
}

// reaches reports whether the rule may be about something below a folder.
func (r *Rule) reaches(dir string, p *Policy) bool {
	dirs := []string{dir}
	if name, _, ok := original(dir); ok {
		dirs = append(dirs, name)
	}
	for _, at := range []places{p.at, p.real} {
		fixed := r.base(at)
		if fixed != "" && !r.path.floats {
			fixed = filepath.Join(fixed, literal(r.path.pattern))
		}
		if fixed != "" && slices.ContainsFunc(dirs, func(dir string) bool { return pathin.Contains(dir, fixed) || pathin.Contains(fixed, dir) }) {
			return true
		}
	}
	return false
}

func (r *Rule) coversForm(c shell.Command) bool {
	return r.command.matches(c.Text) || r.command.matches(oneBlank(c.Source)) || r.words != nil && r.words.matches(c.Words) || r.unquoted != nil && r.unquoted.matches(unquoted.Replace(c.Text))
}

// mayCover says why a rule may cover what a command runs; "" if it does not.
func (r *Rule) mayCover(a *shell.Analysis) string {
	if a.Unseen != "" {
		return a.Unseen
	}
	for _, c := range a.Deny {
		switch {
		case c.Maybe && r.coversForm(c):
			return "it may run " + brief(c.Text)
		case r.words != nil && !c.Maybe && r.words.mayMatch(c):
			return "a word of " + brief(c.Text) + " may stand for others"
		}
	}
	return ""
}
