// Package handshake lets a client and a server that share a token recognise each other without
// sending it.
//
// A port says nothing about the program that listens at it: after a server has died, any other
// program can take its port. So the server proves first that it knows the token, by an HMAC over
// a nonce of the client and one of its own:
//
//	client := &http.Client{Transport: &handshake.Transport{Token: token}}
//
// Requests then carry a ticket, another HMAC over the same values. The server's nonce is as old
// as its process, so a ticket dies with the process and is of no use to the next program at the
// port. Both sides include the host that the client calls: a program that passes the handshake
// on to the real server, at another address, learns nothing that works there.
package handshake

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Path is where a server proves itself. The query has the client's nonce.
const Path = "/v1/hello"

// Hello is the server's proof.
type Hello struct {
	// Nonce is the server's; it is the same as long as the process runs.
	Nonce string `json:"nonce"`
	Proof string `json:"proof"`
}

// What an HMAC is for. A proof is never a ticket.
const (
	proofs  = "haft server"
	tickets = "haft client"
)

// scheme is that of the Authorization header.
const scheme = "Haft "

// nonceLength is that of 130 bits in base 32.
const nonceLength = 26

func mac(token, purpose, host, client, server string) string {
	h := hmac.New(sha256.New, []byte(token))
	for _, part := range []string{purpose, strings.ToLower(host), client, server} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// A Server proves itself and recognises tickets.
type Server struct{ token, nonce string }

// NewServer returns the server of this process.
func NewServer(token string) *Server { return &Server{token, rand.Text()} }

// Hello is the proof for a request to [Path].
func (s *Server) Hello(r *http.Request) (Hello, error) {
	client := r.URL.Query().Get("nonce")
	if s.token == "" || len(client) != nonceLength {
		return Hello{}, fmt.Errorf("the query must have a nonce of %d characters", nonceLength)
	}
	return Hello{s.nonce, mac(s.token, proofs, r.Host, client, s.nonce)}, nil
}

// Knows reports whether a request has a ticket, and whether it is one of this process.
func (s *Server) Knows(r *http.Request) (has, valid bool) {
	value, has := strings.CutPrefix(r.Header.Get("Authorization"), scheme)
	client, ticket, _ := strings.Cut(value, ".")
	want := mac(s.token, tickets, r.Host, client, s.nonce)
	return has, has && s.token != "" && len(client) == nonceLength && hmac.Equal([]byte(ticket), []byte(want))
}

// A Transport sends requests to servers that have proved themselves, with a ticket in place of
// the token. It is safe for concurrent use.
type Transport struct {
	Token string

	mu      sync.Mutex
	tickets map[string]string // by scheme and host
}

// UnprovedError says that a server does not know the token.
type UnprovedError struct {
	URL string
	// Said is what it answered instead, as far as it is known; it is not to be trusted.
	Said string
}

func (e *UnprovedError) Error() string {
	text := fmt.Sprintf("the program that listens at %s did not prove that it knows the token: the token is wrong, or the program is not your haft server. The token was not sent to it", e.URL)
	if e.Said != "" {
		text += fmt.Sprintf(". Its answer: %.300q", e.Said)
	}
	return text
}

// RoundTrip implements [http.RoundTripper]. If the server was restarted, it has to prove itself
// again.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	for again := false; ; again = true {
		ticket, known, err := t.ticket(r.Context(), r.URL)
		if err != nil {
			if r.Body != nil {
				r.Body.Close()
			}
			return nil, err
		}
		out := r.Clone(r.Context())
		out.Header.Set("Authorization", scheme+ticket)
		if again && r.GetBody != nil {
			if out.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
		resp, err := http.DefaultTransport.RoundTrip(out)
		if err != nil || resp.StatusCode != http.StatusUnauthorized {
			return resp, err
		}
		t.forget(r.URL, ticket)
		if again || !known || r.Body != nil && r.GetBody == nil {
			return resp, nil
		}
		resp.Body.Close()
	}
}

// ticket is the one for a server; known says that it is from an earlier request.
func (t *Transport) ticket(ctx context.Context, at *url.URL) (ticket string, known bool, err error) {
	key := at.Scheme + "://" + at.Host
	t.mu.Lock()
	ticket, known = t.tickets[key]
	t.mu.Unlock()
	if known {
		return ticket, true, nil
	}
	client := rand.Text()
	hello, err := greet(ctx, key, client)
	if err != nil {
		return "", false, err
	}
	if !hmac.Equal([]byte(hello.Proof), []byte(mac(t.Token, proofs, at.Host, client, hello.Nonce))) || t.Token == "" {
		return "", false, &UnprovedError{URL: key}
	}
	ticket = client + "." + mac(t.Token, tickets, at.Host, client, hello.Nonce)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tickets == nil {
		t.tickets = map[string]string{}
	}
	t.tickets[key] = ticket
	return ticket, false, nil
}

// greetTime is how long a server may take to prove itself.
const greetTime = 10 * time.Second

// greet asks a server for its proof. The request has nothing but a nonce in it.
func greet(ctx context.Context, server, nonce string) (hello Hello, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, greetTime, errors.New("it took longer than "+greetTime.String()))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server+Path+"?nonce="+nonce, nil)
	if err != nil {
		return hello, err
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return hello, err
	}
	defer resp.Body.Close()
	var answer struct {
		Hello
		Message string `json:"message"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, 4<<10)).Decode(&answer)
	if resp.StatusCode != http.StatusOK || err != nil {
		return hello, &UnprovedError{server, cmp.Or(answer.Message, resp.Status)}
	}
	return answer.Hello, nil
}

// forget drops a ticket that the server does not know any more.
func (t *Transport) forget(at *url.URL, ticket string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if key := at.Scheme + "://" + at.Host; t.tickets[key] == ticket {
		delete(t.tickets, key)
	}
}
