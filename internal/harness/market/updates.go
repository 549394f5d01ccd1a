package market

import "fmt"

// An Update is a newer content of an installed plugin. It takes effect once the user installs
// exactly this content.
type Update struct {
	ID      string `json:"id"`
	Before  string `json:"previous_version,omitempty"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest"`
}

func (u Update) String() string {
	version := ""
	if u.Version != "" && u.Version != u.Before {
		version = " " + u.Version
	}
	return fmt.Sprintf("An update%s of the plugin %s is available. Review it: haft plugin update %s --dry-run. Then install exactly this: haft plugin update %[2]s --digest %[4]s", version, u.ID, u.ID, u.Digest)
}
