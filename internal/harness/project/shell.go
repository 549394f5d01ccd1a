package project

// A Shell is what shell commands of a project inherit.
type Shell struct {
	Environ []string // of this process, with what the settings add
	Pass    []string // names of it that commands inherit beside the usual ones
}

// Shell reads what the settings say about commands.
func (p *Project) Shell() *Shell {
	s := &Shell{Environ: p.environ(), Pass: []string{"CLAUDE_CODE_ENTRYPOINT"}}
	for _, v := range p.Counts.Env() {
		s.Pass = append(s.Pass, v.Name)
	}
	for _, name := range p.Counts.PassEnv() {
		s.Pass = append(s.Pass, name.Text)
	}
	return s
}
