package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/shell/grammar"
)

// A flow is where the shell may be after a statement that succeeded or failed.
type flow struct{ ok, fail dirs }

func (f flow) any() dirs { return f.ok.union(f.fail) }

// stmts walks statements one after another.
func (a *analyzer) stmts(list []*syntax.Stmt) flow {
	f := flow{a.dirs, a.dirs}
	for _, st := range list {
		f = a.stmt(st)
		a.dirs = f.any()
	}
	return f
}

// subshell runs fn and forgets what it changed.
func (a *analyzer) subshell(fn func()) {
	dirs, vars := a.dirs, a.vars
	a.vars = make(map[string]binding, len(vars))
	for name, b := range vars {
		a.vars[name] = b
	}
	fn()
	a.dirs, a.vars = dirs, vars
}

func (a *analyzer) stmt(st *syntax.Stmt) flow {
	a.depth++
	outer, piped, listed, plain, file := a.redirected, a.piped, a.listed, a.plainInput, a.fileInput
	a.redirected = len(st.Redirs) > 0
	if slices.ContainsFunc(st.Redirs, feeds) {
		a.piped, a.listed, a.plainInput, a.fileInput = true, a.feedsList(st.Redirs), plainFeed(st.Redirs), fileFeed(st.Redirs)
	}
	defer func() {
		a.depth, a.redirected, a.piped, a.listed, a.plainInput, a.fileInput = a.depth-1, outer, piped, listed, plain, file
	}()
	if a.depth > maxDepth {
		a.refuse("the command is nested too deeply")
		a.unseen("the command is nested too deeply")
		a.denyTokens(a.text(st))
		return flow{dirs{lost}, dirs{lost}}
	}
	if a.steps--; a.steps < 0 {
		a.refuse("the command has too many parts") // loops take no further turns
	}
	if st.Background || st.Coprocess || st.Disown {
		a.fail("it leaves a process running in the background")
	}
	a.redirects(st.Redirs)
	a.noteWritten(st)
	if st.Cmd == nil {
		return flow{a.dirs, a.dirs}
	}
	var f flow
	if st.Background {
		a.subshell(func() { a.command(st.Cmd) })
		f = flow{a.dirs, a.dirs}
	} else {
		f = a.command(st.Cmd)
	}
	if st.Negated {
		f.ok, f.fail = f.fail, f.ok
	}
	return f
}

// noteWritten notes the files that a statement writes, and whether all that it writes there is
// written out in it.
func (a *analyzer) noteWritten(st *syntax.Stmt) {
	for _, r := range st.Redirs {
		if r.Op == syntax.RdrOut || r.Op == syntax.AppOut || r.Op == syntax.RdrClob || r.Op == syntax.RdrAll || r.Op == syntax.AppAll {
			if a.written == nil {
				a.written = map[string]bool{}
			}
			name := path.Clean(a.value(r.Word).guess)
			_, more := a.written[name]
			a.written[name] = printsPlain(st) && !(more && r.Op == syntax.AppOut)
			a.runsFiles = a.runsFiles || strings.Contains(name, ".git/") || strings.HasSuffix(name, "rc") || strings.HasSuffix(name, "profile")
		}
	}
}

// command walks one command and leaves a.dirs as it was.
func (a *analyzer) command(cmd syntax.Command) flow {
	before := a.dirs
	f := flow{before, before}
	switch c := cmd.(type) {
	case *syntax.CallExpr:
		f = a.call(c)
	case *syntax.BinaryCmd:
		f = a.binary(c)
	case *syntax.Block:
		f = a.stmts(c.Stmts)
	case *syntax.Subshell:
		a.subshell(func() { a.stmts(c.Stmts) })
	case *syntax.IfClause:
		f = a.ifClause(c)
	case *syntax.ForClause:
		f = a.forClause(c)
	case *syntax.WhileClause:
		f = a.whileClause(c)
	case *syntax.CaseClause:
		f = a.caseClause(c)
	case *syntax.TestClause:
		a.testClause(c)
	case *syntax.TimeClause:
		f = a.timeClause(c)
	case *syntax.DeclClause:
		a.declClause(c)
	case *syntax.FuncDecl:
		a.refuse("it defines a function")
		a.subshell(func() {
			if !before.holds(a.stmt(c.Body).any()) {
				f = flow{dirs{lost}, dirs{lost}} // whoever calls it moves
			}
		})
	case *syntax.CoprocClause:
		a.refuse("coproc is read differently by shells")
		a.subshell(func() { a.stmt(c.Stmt) })
		a.denyTokens(strings.TrimPrefix(a.text(c), "coproc"))
	default:
		a.refuse(fmt.Sprintf("haft does not understand %s", kindOf(cmd)))
		a.searchNested(cmd)
	}
	a.dirs = before
	return f
}

func kindOf(cmd syntax.Command) string {
	switch cmd.(type) {
	case *syntax.ArithmCmd, *syntax.LetClause:
		return "arithmetic commands"
	}
	return "commands of this kind"
}

func (a *analyzer) binary(c *syntax.BinaryCmd) flow {
	before := a.dirs
	switch c.Op {
	case syntax.AndStmt:
		x := a.stmt(c.X)
		a.dirs = x.ok
		y := a.stmt(c.Y)
		return flow{y.ok, x.fail.union(y.fail)}
	case syntax.OrStmt:
		x := a.stmt(c.X)
		a.dirs = x.fail
		y := a.stmt(c.Y)
		return flow{x.ok.union(y.ok), y.fail}
	case syntax.Pipe, syntax.PipeAll:
		if _, ok := c.Y.Cmd.(*syntax.TimeClause); ok {
			a.refuse("time after a pipe is read differently by shells")
		}
		a.subshell(func() { a.stmt(c.X) })
		piped, listed, plain, file := a.piped, a.listed, a.plainInput, a.fileInput
		a.piped, a.listed, a.plainInput, a.fileInput = true, a.lists([]*syntax.Stmt{c.X}), printsPlain(c.X), false
		a.subshell(func() { a.stmt(c.Y) })
		a.piped, a.listed, a.plainInput, a.fileInput = piped, listed, plain, file
	}
	return flow{before, before}
}

func (a *analyzer) ifClause(c *syntax.IfClause) flow {
	if len(c.Cond) == 0 { // else
		return a.stmts(c.Then)
	}
	cond := a.stmts(c.Cond)
	a.dirs = cond.ok
	out := a.stmts(c.Then).any()
	a.dirs = cond.fail
	if c.Else != nil {
		out = out.union(a.ifClause(c.Else).any())
	} else {
		out = out.union(cond.fail)
	}
	return flow{out, out}
}

func (a *analyzer) caseClause(c *syntax.CaseClause) flow {
	if v := a.value(c.Word); v.refuse != "" {
		a.refuse(v.refuse)
	}
	before := a.dirs
	out := before
	for _, item := range c.Items {
		if item.Op != syntax.Break {
			a.refuse("case with a fall-through")
		}
		for _, pattern := range item.Patterns {
			if v := a.value(pattern); v.refuse != "" {
				a.refuse(v.refuse)
			}
		}
		a.dirs = out
		out = out.union(a.stmts(item.Stmts).any())
	}
	return flow{out, out}
}

func (a *analyzer) timeClause(c *syntax.TimeClause) flow {
	if c.Stmt == nil {
		a.deny(nil, words("time"))
		return flow{a.dirs, a.dirs}
	}
	if call, ok := c.Stmt.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && strings.HasPrefix(call.Args[0].Lit(), "-") {
		a.refuse("time with a flag is read differently by shells")
	}
	if c.PosixFormat {
		a.refuse("time with a flag")
	}
	return a.stmt(c.Stmt)
}

// declClause handles export, declare, local and the like.
func (a *analyzer) declClause(c *syntax.DeclClause) {
	args := words(c.Variant.Value)
	for _, assign := range c.Args {
		args = append(args, a.assignValue(assign))
	}
	if c.Variant.Value == "export" && !a.lone && a.exportsHarmless(c) {
		a.deny(nil, args)
		return
	}
	a.refuse(c.Variant.Value + " changes or prints variables")
	a.calling = a.text(c)
	a.simple(args, nil)
}

// exportsHarmless reports whether export sets nothing but variables that cannot change
// what runs.
func (a *analyzer) exportsHarmless(c *syntax.DeclClause) bool {
	for _, as := range c.Args {
		if as.Naked || as.Name == nil || as.Value == nil || as.Index != nil || as.Append || as.Name.Value == "IFS" || a.looped[as.Name.Value] {
			return false
		}
		if !harmlessAssign(assignment{as.Name.Value, a.assignValue(as)}, words("export")) {
			return false
		}
	}
	return len(c.Args) > 0
}

func (a *analyzer) whileClause(c *syntax.WhileClause) flow {
	a.bindRead(c)
	start := a.dirs
	out := a.turn(c)
	if !start.holds(out) { // the next turn starts elsewhere, and may move again
		a.fromAnywhere(func() { a.turn(c) })
		out = dirs{lost}
	}
	if !readLoop(c) {
		a.refuse("a loop that may never end")
	}
	return flow{out, out}
}

// fromAnywhere walks a turn of a loop that may start in any directory. It does
// nothing once the command is refused for its size, or nested loops would
// double the work at each level.
func (a *analyzer) fromAnywhere(turn func()) {
	if a.steps >= 0 {
		a.dirs = dirs{lost}
		turn()
	}
}

// turn walks the condition and the body of a loop once.
func (a *analyzer) turn(c *syntax.WhileClause) dirs {
	a.reading = readLoop(c)
	cond := a.stmts(c.Cond)
	a.reading = false
	a.dirs = cond.any()
	return a.stmts(c.Do).any().union(cond.fail)
}

// readLoop reports whether a loop ends with its input.
func readLoop(c *syntax.WhileClause) bool {
	call := lastCall(c.Cond)
	return !c.Until && len(c.Cond) == 1 && call != nil && len(call.Args) > 0 && call.Args[0].Lit() == "read"
}

func lastCall(stmts []*syntax.Stmt) *syntax.CallExpr {
	if len(stmts) == 0 {
		return nil
	}
	call, _ := stmts[len(stmts)-1].Cmd.(*syntax.CallExpr)
	return call
}

// bindRead notes the variables that "while read -r x" sets: they hold input,
// not what the environment holds.
func (a *analyzer) bindRead(c *syntax.WhileClause) {
	call := lastCall(c.Cond)
	if call == nil || !readLoop(c) {
		return
	}
	for _, name := range readNames(call) {
		a.rebind(name)
		a.vars[name] = binding{data: true, value: value{Word: grammar.Word{Wild: true, Listed: a.listed}}}
	}
}

// readNames returns the variables that a plain "read -r x y" sets, nil if the
// command does anything else.
func readNames(call *syntax.CallExpr) []string {
	var names []string
	for i, w := range call.Args {
		s := w.Lit()
		switch {
		case i == 0 && s == "read":
		case i == 1 && s == "-r":
		case localName(s):
			names = append(names, s)
		default:
			return nil
		}
	}
	return names
}

// localName reports whether a variable of this name is surely not exported to
// programs that heed it, as PATH, http_proxy or npm_config_x would be.
func localName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789") == "" && (s[0] < '0' || s[0] > '9') || len(s) == 1 && s[0] >= 'A' && s[0] <= 'Z'
}

// forClause walks the body once for each item.
func (a *analyzer) forClause(c *syntax.ForClause) flow {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok || c.Select || !iter.InPos.IsValid() {
		a.refuse("a loop whose number of iterations is not known")
		a.searchNested(c.Loop)
		return a.loopBody(c)
	}
	items := a.loopItems(iter)
	name := iter.Name.Value
	sure := a.assigned[name] == 0 && localName(name)
	if !sure {
		a.refuse("the loop sets a variable that affects other commands or is also set elsewhere")
	}
	a.rebind(name)
	start, out := a.dirs, a.dirs
	if len(items) == 0 {
		a.loopBody(c)
	}
	for i, item := range items {
		if a.steps--; a.steps < 0 && i > 0 {
			a.refuse("the loops have too many iterations")
			break
		}
		if item.refuse != "" {
			a.refuse(item.refuse)
		}
		a.vars[name] = binding{value: item, sure: sure}
		a.dirs = start
		out = out.union(a.loopBody(c).any())
		if !start.holds(out) { // the next turn starts elsewhere, and one item may be several
			out = dirs{lost}
			start = out
			a.fromAnywhere(func() { a.loopBody(c) })
		}
	}
	a.forget(name)
	return flow{out, out}
}

// loopItems returns what a loop goes through. A pattern is written out if no file that
// it will ever stand for can have the name of a flag.
func (a *analyzer) loopItems(iter *syntax.WordIter) []value {
	var out []value
	for _, v := range a.values(iter.Items...) {
		if v.Value != "" && v.Value[0] != '-' {
			out = append(out, a.expandValues([]value{v})...)
		} else {
			out = append(out, v)
		}
	}
	return out
}

// rebind refuses to set a variable whose value is relied on: after the inner
// loop it would not be what the outer one set.
func (a *analyzer) rebind(name string) {
	if a.vars[name].sure {
		a.refuse("a loop variable is set again inside the loop")
	}
}

func (a *analyzer) loopBody(c *syntax.ForClause) flow { return a.stmts(c.Do) }

// forget keeps what a variable may hold after its loop as a guess only: the last
// item, unless the loop was left early or took no turn.
func (a *analyzer) forget(name string) {
	if b, ok := a.vars[name]; ok {
		b.value.Dynamic, b.value.Value = true, ""
		a.vars[name] = binding{value: b.value}
	}
}
