package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/sys/loopback"
	"github.com/haftdev/haft/internal/sys/regular"
)

// Bounds of what is read of a registry.
const (
	maxBytes = 64 << 20 // of all pages
	maxPages = 50
	perPage  = "100"
)

// A Registry is a file or an address with a list of servers.
type Registry struct {
	file string
	base *url.URL // nil for a file
	http *http.Client
}

// Open says where a registry is: in a file, or at an address. Only https is taken, because a
// list says what will be run, and http on this machine. A nil client means a plain one.
func Open(source string, client *http.Client) (*Registry, error) {
	if !strings.Contains(source, "://") {
		return &Registry{file: source}, nil
	}
	base, err := url.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("%q is not a valid URL: %w", source, err)
	}
	if err := allowed(base); err != nil {
		return nil, fmt.Errorf("cannot read a registry from %q: %w", base.Redacted(), err)
	}
	own := http.Client{}
	if client != nil {
		own = *client
	}
	own.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > 5 {
			return errors.New("it redirects too often")
		}
		return allowed(r.URL)
	}
	switch path := strings.TrimSuffix(base.Path, "/"); path {
	case "":
		base.Path = "/v0.1/servers"
	case "/v0", "/v0.1":
		base.Path = path + "/servers"
	}
	return &Registry{base: base, http: &own}, nil
}

func allowed(u *url.URL) error {
	if u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && loopback.Host(u.Hostname())) {
		return nil
	}
	return errors.New("use https, or http on this machine")
}

// Search finds the servers with all the words in their names, titles or descriptions. A
// registry at an address may look at names only.
func (r *Registry) Search(ctx context.Context, words []string) (Found, error) {
	return r.read(ctx, words, fitting(words))
}

// Find finds a server by its whole name; nil if there is none.
func (r *Registry) Find(ctx context.Context, name string) (*Server, error) {
	found, err := r.read(ctx, []string{name}, func(s *Server) bool { return s.Name == name })
	if err != nil || len(found.Servers) == 0 {
		return nil, err
	}
	return &found.Servers[0], nil
}

func (r *Registry) read(ctx context.Context, words []string, fits func(*Server) bool) (found Found, err error) {
	if r.base == nil {
		raw, err := regular.Read(r.file, maxBytes)
		if err != nil {
			return found, fmt.Errorf("could not read the registry: %w", err)
		}
		p, err := readPage(raw)
		if err != nil {
			return found, fmt.Errorf("could not read the registry %s: %w", r.file, err)
		}
		found.add(p, fits)
		return found, nil
	}
	left, cursors := int64(maxBytes), []string{""}
	for range maxPages {
		cursor := cursors[len(cursors)-1]
		raw, err := r.get(ctx, words, cursor, left)
		if err != nil {
			return found, fmt.Errorf("could not read the registry %s: %w", r.base.Redacted(), err)
		}
		p, err := readPage(raw)
		if err != nil {
			return found, fmt.Errorf("could not read the registry %s: %w", r.base.Redacted(), err)
		}
		found.add(p, fits)
		if p.next == "" || slices.Contains(cursors, p.next) {
			return found, nil
		}
		cursors, left = append(cursors, p.next), left-int64(len(raw))
	}
	found.More = true
	return found, nil
}

// get fetches a page. The registry is asked for one word, the longest, because it looks for
// what it is given as a whole.
func (r *Registry) get(ctx context.Context, words []string, cursor string, most int64) ([]byte, error) {
	at := *r.base
	query := at.Query()
	query.Set("limit", perPage)
	query.Set("version", "latest")
	if len(words) > 0 {
		query.Set("search", slices.MaxFunc(words, func(a, b string) int { return len(a) - len(b) }))
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	at.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := r.http.Do(req)
	if err != nil {
		return nil, cause(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered with status %d", resp.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err == nil && int64(len(raw)) > most {
		err = fmt.Errorf("it is larger than %d MiB", maxBytes>>20)
	}
	return raw, err
}

// cause is what an error says without the request, which is named already.
func cause(err error) error {
	var about *url.Error
	if errors.As(err, &about) {
		return about.Err
	}
	return err
}
