package market

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/haftdev/haft/internal/sys/regular"
)

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

// updatesName is the file with what the last check found.
const updatesName = ".updates.json"

// Check fetches the marketplaces of installed plugins and keeps what is newer there. It
// installs nothing.
func (s *Store) Check(ctx context.Context) ([]Update, error) {
	found := []Update{}
	var markets []string
	for _, r := range s.Installed() {
		if !slices.Contains(markets, r.Marketplace) {
			markets = append(markets, r.Marketplace)
		}
	}
	if len(markets) == 0 {
		return found, nil
	}
	_, err := s.Update(ctx, markets...)
	errs := []error{err}
	for _, r := range s.Installed() {
		p, err := s.Prepare(ctx, r.ID())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !p.Current() {
			found = append(found, Update{r.ID(), r.Version, p.Version, p.Digest})
		}
		errs = append(errs, p.Close())
	}
	text, err := json.Marshal(found)
	if err == nil {
		err = os.WriteFile(s.path(marketsDir, updatesName), text, 0o600)
	}
	return found, errors.Join(append(errs, err)...)
}

// Found returns what the last check found and the user has not installed since, and when
// that was.
func (s *Store) Found() (updates []Update, at time.Time) {
	info, err := os.Lstat(s.path(marketsDir, updatesName))
	if err != nil {
		return nil, time.Time{}
	}
	text, err := regular.Read(s.path(marketsDir, updatesName), maxCatalog)
	if err != nil || json.Unmarshal(text, &updates) != nil {
		return nil, time.Time{}
	}
	return slices.DeleteFunc(updates, func(u Update) bool {
		r, err := s.Find(u.ID)
		return err != nil || r.Digest == u.Digest
	}), info.ModTime()
}
