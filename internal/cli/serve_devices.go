package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/config/keep"
	"github.com/haftdev/haft/internal/front/serve"
)

func newServeDevices(s Streams) []*cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "devices",
		Short: message("List the devices that are paired with the server"),
		Long: `List the phones and browsers that were paired with 'haft serve --pair' or in the page.
Each has its own token, which expires after 30 days or ends with 'haft serve revoke'.`,
		Args: exactly(0),
		RunE: func(*cobra.Command, []string) error {
			d, err := pairedDevices()
			if err != nil {
				return err
			}
			list, err := d.List()
			if err != nil {
				return fmt.Errorf("could not list the devices: %w", err)
			}
			if asJSON {
				return writeJSON(s.Out, serve.DeviceList{Devices: list})
			}
			return listDevices(s, list)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "write the list as JSON")
	return []*cobra.Command{c, newServeRevoke(s)}
}

// pairedDevices are those of this user, whether a server runs or not.
func pairedDevices() (*serve.Devices, error) {
	home, err := serve.OpenHome(filepath.Join(keep.State(), "serve"), false)
	if err != nil {
		return nil, fmt.Errorf("could not read the devices: %w", err)
	}
	return home.Devices(), home.Close()
}

func listDevices(s Streams, list []serve.Device) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(s.Out, "No devices are paired. Pair one with 'haft serve --pair'.")
		return err
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tACCESS\tPAIRED\tLAST SEEN\tEXPIRES")
	day := func(ms int64) string { return time.UnixMilli(ms).Format(time.DateOnly) }
	for _, d := range list {
		may := pairAnswer
		if d.Full {
			may = pairFull
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", d.ID, d.Name, may, day(int64(d.Created)), day(int64(d.Seen)), day(int64(d.Expires)))
	}
	return w.Flush()
}

func newServeRevoke(s Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: message("Revoke a paired device's access"),
		Long: `Revoke the access of a device that 'haft serve devices' lists. Its open connections end
within a second.`,
		Example: `  haft serve revoke qk3v7x`,
		Args:    exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := pairedDevices()
			if err != nil {
				return err
			}
			err = d.Revoke(args[0])
			if errors.Is(err, serve.ErrNoDevice) {
				return fmt.Errorf("could not revoke %s: there is no device with this id. Run 'haft serve devices' for the list", args[0])
			}
			if err != nil {
				return fmt.Errorf("could not revoke %s: %w", args[0], err)
			}
			_, err = fmt.Fprintf(s.Out, "Revoked %s.\n", args[0])
			return err
		},
	}
}
