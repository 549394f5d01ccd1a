package harness

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/permission/ask"
)

// A Diagnosis says what is set for a project and what is wrong with it.
type Diagnosis struct {
	Project  string   `json:"project"`
	Mode     string   `json:"mode"`
	Files    []string `json:"settings"`
	Rules    int      `json:"rules"`
	Problems []string `json:"problems"`
	Held     []string `json:"untrusted"`
	Missing  []string `json:"missing_programs"`
}

// helpers are programs that tools use when they are there.
var helpers = []struct{ name, use string }{
	{"bash", "Bash runs commands with it; install bash"},
	{"git", "worktrees and checkpoints use it; install git"},
	{"pdftotext", "Read shows the text of PDF pages with it; install poppler-utils"},
}

// Diagnose looks at everything that is set.
func (p *Project) Diagnose() *Diagnosis {
	d := &Diagnosis{Project: p.Dir, Files: []string{}, Problems: []string{}, Held: []string{}, Missing: []string{}}
	for _, file := range p.Settings.Files() {
		d.Files = append(d.Files, fmt.Sprintf("%s (%s)", file.Path, file.Source))
	}
	for _, problem := range p.Settings.Problems() {
		d.Problems = append(d.Problems, problem.String())
	}
	opts, err := p.Policy()
	if err != nil {
		d.Problems = append(d.Problems, err.Error())
	}
	d.Mode, d.Rules = string(opts.Mode), len(opts.Rules)
	for _, problem := range permission.NewPolicy(opts).Problems() {
		d.Problems = append(d.Problems, problem.String())
	}
	for _, problem := range p.Library.Faults() {
		d.Problems = append(d.Problems, problem.String())
	}
	for _, h := range slices.Concat(p.Held, p.HeldClaims()) {
		d.Held = append(d.Held, h.String())
	}
	for _, h := range helpers {
		if _, err := exec.LookPath(h.name); err != nil {
			d.Missing = append(d.Missing, h.name+": "+h.use)
		}
	}
	return d
}

// Text is the diagnosis for people, in lines.
func (d *Diagnosis) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "project   %s\nmode      %s\nrules     %d\n", d.Project, d.Mode, d.Rules)
	for _, file := range d.Files {
		fmt.Fprintf(&b, "settings  %s\n", file)
	}
	for _, list := range []struct {
		what  string
		items []string
	}{{"problem", d.Problems}, {"untrusted", d.Held}, {"missing", d.Missing}} {
		for _, item := range list.items {
			fmt.Fprintf(&b, "%-9s %s\n", list.what, ask.Visible(item))
		}
	}
	if len(d.Held) > 0 {
		b.WriteString("See what the project asks for, and trust it, with: haft trust\n")
	}
	return b.String()
}
