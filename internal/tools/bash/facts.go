package bash

import (
	"cmp"
	"encoding/json"
	"path/filepath"

	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/tool"
)

// facts are what is found out about a command once, for everything that has to do with it;
// see [tool.Facts].
type facts struct {
	in       Input
	dir      string          // where it would run
	analysis *shell.Analysis // nil if nothing is known of commands
	sed      *substitution   // the edit that the command is; nil for any other
	file     string          // that it edits
}

// Analysis implements [shell.Analyzed].
func (f *facts) Analysis(dir string) *shell.Analysis {
	if f.dir != dir {
		return nil
	}
	return f.analysis
}

// analyze finds out about a command, as a [tool.Def] does. A command that the judge has rendered
// from an analysis is the one that this analysis is about.
func (t *Tools) analyze(c *tool.Call, in Input, before *tool.Facts) any {
	f := &facts{in: in, dir: cmp.Or(c.Dir, t.Dir(c.Agent))}
	if before != nil {
		if old, ok := before.Analysis.(*facts); ok && old.dir == f.dir && old.analysis != nil && old.analysis.ReadOnly && old.analysis.Run == in.Command {
			f.analysis = old.analysis
		}
	}
	if f.analysis == nil && t.opts.Analyze != nil {
		f.analysis = t.opts.Analyze(in.Command, f.dir)
	}
	if sub, ok := parseSed(in.Command); ok && t.opts.Edit != nil && !in.RunInBackground {
		f.sed, f.file = &sub, sub.file
		if !filepath.IsAbs(f.file) {
			f.file = filepath.Join(f.dir, f.file)
		}
	}
	return f
}

// facts returns what is known of a call, which is found out now if nobody has yet.
func (t *Tools) facts(c *tool.Call) *facts {
	if c.Facts != nil {
		if f, ok := c.Facts.Analysis.(*facts); ok {
			return f
		}
	}
	var in Input
	_ = json.Unmarshal(c.Input, &in) // of an input that was not checked, what can be read counts
	return t.analyze(c, in, nil).(*facts)
}

func (t *Tools) marks(c *tool.Call) tool.Marks {
	f := t.facts(c)
	if f.in.RunInBackground || f.analysis == nil || !f.analysis.ReadOnly {
		return tool.Marks{}
	}
	// A sibling must not start, or be judged, while the directory may change.
	return tool.Marks{ReadOnly: true, ConcurrencySafe: !moves.MatchString(f.in.Command), Effect: tool.Pure}
}

// plain says in which environment the command of a call changes nothing where it starts, and
// with which words it needs no shell; nil if it may change something.
func (t *Tools) plain(c *tool.Call) func(dir string) (env, words []string) {
	if t.opts.Analyze == nil || t.opts.Harden == nil {
		return nil
	}
	return func(dir string) (env, words []string) {
		f := t.facts(c)
		a := f.Analysis(dir)
		if a == nil { // the directory is gone, and the command runs in another one
			a = t.opts.Analyze(f.in.Command, dir)
		}
		if !a.ReadOnly {
			return nil, nil
		}
		return t.opts.Harden(dir), a.Words
	}
}
