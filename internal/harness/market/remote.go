package market

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/sys/loopback"
	"github.com/haftdev/haft/internal/text/visible"
)

// isCatalog reports whether an address is that of a marketplace.json, not of a repository.
func isCatalog(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") && strings.HasSuffix(u.Path, ".json")
}

// safe refuses addresses whose answer others could have changed on the way.
func safe(u *url.URL) error {
	if u.Scheme != "https" && !(u.Scheme == "http" && loopback.Host(u.Hostname())) {
		return fmt.Errorf("%q cannot be fetched: only https addresses are supported", visible.Name(u.String()))
	}
	if u.User != nil {
		return fmt.Errorf("the address at %s contains a password, which would be saved", u.Host)
	}
	return nil
}

// fetchCatalog puts the marketplace.json at an address into a folder that it makes.
func fetchCatalog(ctx context.Context, address, tree string) error {
	u, err := url.Parse(address)
	if err == nil {
		err = safe(u)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	client := &http.Client{CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if len(before) > 5 {
			return errors.New("it leads on too often")
		}
		return safe(next.URL)
	}}
	answer, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("could not fetch the marketplace: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("could not fetch the marketplace: %s answered %s", u.Host, answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxCatalog+1))
	if err != nil {
		return fmt.Errorf("could not fetch the marketplace: %w", err)
	}
	file := filepath.Join(tree, filepath.FromSlash(catalogName)) // what is too large is found when it is read
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
