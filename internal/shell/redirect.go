package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/shell/grammar"
)

// redirects judges the redirections of a statement.
func (a *analyzer) redirects(list []*syntax.Redirect) {
	for _, r := range list {
		if r.N != nil && strings.Trim(r.N.Value, "0123456789") != "" {
			a.refuse("a redirection to a named file descriptor")
		}
		if r.Hdoc != nil {
			v := a.quoted(r.Hdoc)
			if v.refuse != "" {
				a.refuse(v.refuse)
			}
			a.words = append(a.words, strings.Fields(v.guess)...)
			a.feed(v.guess)
		}
		a.redirect(r)
	}
}

// quoted returns what is known about the body of a here-document.
func (a *analyzer) quoted(w *syntax.Word) value {
	b := &builder{a: a}
	for _, part := range w.Parts {
		b.part(part, true)
	}
	return b.value()
}

// feeds reports whether a redirection gives a command something to read.
func feeds(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return r.Word.Lit() != "/dev/null"
	}
	return false
}

func (a *analyzer) redirect(r *syntax.Redirect) {
	if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc {
		return
	}
	values := a.values(r.Word)
	if len(values) != 1 {
		a.refuse("a redirection to several files")
		return
	}
	v := values[0]
	if v.refuse != "" {
		a.refuse(v.refuse)
	}
	a.indirect = a.indirect || v.output
	switch r.Op {
	case syntax.WordHdoc:
		a.words = append(a.words, strings.Fields(v.guess)...)
		a.feed(v.guess)
	case syntax.RdrIn:
		a.redirectIn(v)
	case syntax.DplIn, syntax.DplOut:
		if v.Known() && (v.Value == "-" || v.Value != "" && strings.Trim(v.Value, "0123456789") == "") {
			return
		}
		a.redirectOut(v)
	default:
		a.redirectOut(v)
	}
}

func (a *analyzer) redirectIn(v value) {
	a.read(v.Word)
	shape := v.Value
	if !v.Known() {
		shape = v.Shape
	}
	if v.Pattern != "" {
		a.refuse("input from a file name pattern")
	}
	if reason := a.sensitive(shape, !v.Known(), false); reason != "" {
		a.refuse(reason)
	}
	if reason := a.unknownFile(v.Word); reason != "" {
		a.fail(reason)
	}
	if strings.HasPrefix(shape, "/dev/tcp/") || strings.HasPrefix(shape, "/dev/udp/") {
		a.inexact("it opens a network connection")
	}
}

func (a *analyzer) redirectOut(v value) {
	if v.Known() && v.Value == "/dev/null" {
		return
	}
	redirected := len(a.out.Writes)
	a.write(v.Word)
	for i := range a.out.Writes[redirected:] {
		a.out.Writes[redirected+i].Redirect = true
	}
	a.fail("it writes to " + describe(v.Word))
	if strings.HasPrefix(v.guess, "/dev/") {
		a.inexact("it writes to a device")
	}
	a.criticalWrite(v)
}

// criticalWrite notes a redirection onto a disk.
func (a *analyzer) criticalWrite(v value) {
	for _, disk := range []string{"/dev/sd", "/dev/nvme", "/dev/hd", "/dev/vd", "/dev/disk", "/dev/mapper", "/dev/mem", "/dev/xvd"} {
		if strings.HasPrefix(v.guess, disk) {
			a.setCritical("the data on " + v.guess)
		}
	}
}

func describe(w grammar.Word) string {
	if w.Known() {
		return w.Value
	}
	return "a file whose name is only known at run time"
}

// read and write note files that the command names.
func (a *analyzer) read(w grammar.Word) { a.out.Reads = append(a.out.Reads, a.paths(w)...) }
func (a *analyzer) write(w grammar.Word) {
	for _, p := range a.paths(w) {
		a.out.Writes = append(append(a.out.Writes, p), a.linked(p)...)
	}
}

// isProcSubst reports whether a word is <(…), which is no file. What a file or a program chooses
// could lead out of /dev/fd.
func isProcSubst(w grammar.Word) bool {
	return w.Dynamic && !w.Wild && !w.Many && w.Shape == "/dev/fd/"+unknown
}

// paths returns the files that a word may name, one for each directory that
// the shell may be in.
func (a *analyzer) paths(w grammar.Word) []Path {
	if isProcSubst(w) {
		return nil
	}
	if matches, ok := a.expand(w); ok {
		var out []Path
		for _, m := range matches {
			out = append(out, Path{Value: m, Cwd: a.opts.Cwd, Pattern: w.Pattern})
		}
		return out
	}
	p := Path{Value: w.Value, Dynamic: !w.Known()}
	if w.Pattern != "" {
		p.Value = w.Pattern
	} else if w.Dynamic {
		p.Value = strings.ReplaceAll(w.Shape, unknown, "*")
	}
	if strings.HasPrefix(p.Value, "/") {
		p.Cwd = a.opts.Cwd
		return []Path{p}
	}
	var out []Path
	for _, dir := range a.dirs {
		q := p
		if q.Cwd = dir; !strings.HasPrefix(dir, "/") {
			q.Cwd, q.Dynamic = "", true
		}
		out = append(out, q)
	}
	return out
}
