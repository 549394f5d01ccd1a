package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/harness"
)

func newDoctor(s Streams) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is set here, what is wrong with it and how to mend it",
		Args:  exactly(0),
		RunE: func(*cobra.Command, []string) error {
			p, err := harness.OpenProject(nil)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(s.Out, p.Diagnose())
			}
			_, err = fmt.Fprint(s.Out, p.Diagnose().Text())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return c
}
