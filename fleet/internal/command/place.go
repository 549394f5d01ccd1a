package command

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/runs"
)

// placeFlags say where a new run works and which workers may take it.
type placeFlags struct {
	host  string
	space runs.Workspace
	cmd   *cobra.Command
}

func (f *placeFlags) add(cmd *cobra.Command, s *runs.Submission) {
	f.cmd = cmd
	flags := cmd.Flags()
	flags.StringVar(&s.Dir, "dir", "", "folder to work in, on the worker's machine; defaults to this folder, on this host")
	flags.StringVar(&s.Class, "label", runs.AnyWorker, "only workers with this label may take a new run")
	flags.StringVar(&f.host, "host", "", "only workers on this host may take a new run")
	flags.StringVar(&f.space.Repository, "repo", "", "work on a git repository instead of a folder, on any worker: the repository's address, or its absolute path on every worker")
	flags.StringVar(&f.space.Ref, "ref", "", "with --repo: the branch, tag or commit to start from; defaults to the repository's default branch")
	flags.StringVar(&f.space.Push, "push", "", "with --repo: push the result to this branch whenever the run has nothing more to do")
	cmd.MarkFlagsMutuallyExclusive("label", "host")
	cmd.MarkFlagsMutuallyExclusive("dir", "repo")
}

// apply completes a submission. The folder that a user is in is on this host.
func (f *placeFlags) apply(s *runs.Submission) error {
	switch {
	case f.space.Repository != "":
		s.Workspace = &f.space
	case f.space.Ref != "" || f.space.Push != "":
		return errors.New("--ref and --push need --repo")
	case s.Dir == "" && s.ID == "":
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		s.Dir = dir
		if f.host == "" && !f.cmd.Flags().Changed("label") {
			f.host, _ = os.Hostname() // without one, any worker may look for the folder
		}
	}
	if f.host != "" {
		s.Class = runs.OnHost(f.host)
	}
	return nil
}
