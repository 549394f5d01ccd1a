package archive

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/internal/sys/loopback"
)

const scheme = "s3://"

// A bucket is a store with the protocol of S3.
type bucket struct {
	name, prefix string
	base         *url.URL // of the bucket
	region       string
	keys         aws.Credentials
	signer       *v4.Signer
	client       *http.Client
}

// openBucket reads the environment that other programs for S3 read.
func openBucket(to string, getenv func(string) string) (*bucket, error) {
	name, prefix, _ := strings.Cut(strings.TrimPrefix(to, scheme), "/")
	b := &bucket{
		name: name, prefix: strings.Trim(prefix, "/"), region: cmp.Or(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"), "us-east-1"),
		keys:   aws.Credentials{AccessKeyID: getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: getenv("AWS_SESSION_TOKEN")},
		signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }), // S3 signs paths as they are sent
		// Where else a store sends what it gets was not chosen here, and may be without TLS.
		client: &http.Client{Timeout: 5 * time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	switch {
	case name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "":
		return nil, fmt.Errorf("%q does not name a bucket: write s3://BUCKET or s3://BUCKET/PREFIX", to)
	case !b.keys.HasKeys():
		return nil, fmt.Errorf("cannot use %s without keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", to)
	}
	// A store of one's own has all its buckets at one address.
	address := fmt.Sprintf("https://%s.s3.%s.amazonaws.com", name, b.region)
	if own := cmp.Or(getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL")); own != "" {
		address = strings.TrimSuffix(own, "/") + "/" + name
	}
	var err error
	if b.base, err = url.Parse(address); err != nil || b.base.Host == "" {
		return nil, fmt.Errorf("cannot use %q as the address of the object store: set AWS_ENDPOINT_URL_S3 to an address such as https://s3.example.com", address)
	}
	if b.base.Scheme != "https" && !loopback.Host(b.base.Hostname()) {
		return nil, fmt.Errorf("cannot use %s without TLS: others could read the sessions in transit. Set AWS_ENDPOINT_URL_S3 to an https address", b.base.Host)
	}
	return b, nil
}

func (b *bucket) key(name string) string {
	if b.prefix == "" {
		return name
	}
	return b.prefix + "/" + name
}

// Put implements [Store].
func (b *bucket) Put(ctx context.Context, name string, content []byte) (string, error) {
	location := scheme + b.name + "/" + b.key(name)
	if _, err := b.do(ctx, http.MethodPut, name, content); err != nil {
		return "", fmt.Errorf("save %s: %w", location, err)
	}
	return location, nil
}

// Get implements [Store].
func (b *bucket) Get(ctx context.Context, name string) ([]byte, error) {
	content, err := b.do(ctx, http.MethodGet, name, nil)
	if err != nil {
		return nil, fmt.Errorf("read %s%s/%s: %w", scheme, b.name, b.key(name), err)
	}
	return content, nil
}

// do sends a request, again if the store is busy or away for a moment.
func (b *bucket) do(ctx context.Context, method, name string, content []byte) (answer []byte, err error) {
	wait := 200 * time.Millisecond
	for tries := 0; ; tries++ {
		var again bool
		answer, again, err = b.try(ctx, method, name, content)
		if err == nil || !again || tries == 4 || engine.Pause(ctx, wait) != nil {
			return answer, err
		}
		wait *= 2
	}
}

func (b *bucket) try(ctx context.Context, method, name string, content []byte) (answer []byte, again bool, err error) {
	target := *b.base
	target.Path += "/" + b.key(name)
	target.RawPath = httpbinding.EscapePath(target.Path, false)
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(content))
	if err != nil {
		return nil, false, err
	}
	sum := sha256.Sum256(content)
	if method == http.MethodPut {
		// The store checks that it has what was sent.
		req.Header.Set("X-Amz-Checksum-Sha256", base64.StdEncoding.EncodeToString(sum[:]))
	}
	hash := hex.EncodeToString(sum[:])
	req.Header.Set("X-Amz-Content-Sha256", hash)
	if err := b.signer.SignHTTP(ctx, b.keys, req, hash, "s3", b.region, time.Now()); err != nil {
		return nil, false, err
	}
	res, err := b.client.Do(req)
	if err != nil {
		return nil, true, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	switch {
	case err != nil:
		return nil, true, err
	case res.StatusCode/100 == 2:
		return answer, false, nil
	case res.StatusCode == http.StatusNotFound && method == http.MethodGet:
		return nil, false, fs.ErrNotExist
	}
	return nil, res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests, refusal(res.Status, answer)
}

// refusal is what a store says about a request that it does not take.
func refusal(status string, answer []byte) error {
	var said struct{ Code, Message string }
	if xml.Unmarshal(answer, &said) == nil && said.Code != "" {
		return fmt.Errorf("the object store answered %s: %s: %s", status, said.Code, said.Message)
	}
	return errors.New("the object store answered " + status)
}
