package command

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

const deploy = "../../deploy"

func checkArgs(t *testing.T, where string, args []string) {
	t.Helper()
	if err := Check(args); err != nil {
		t.Errorf("%s: %v", where, err)
	}
}

// compose is what is used of a file for Docker Compose.
type compose struct {
	Services map[string]struct {
		Image       string            `json:"image"`
		Build       map[string]string `json:"build"`
		Command     []string          `json:"command"`
		Environment []string          `json:"environment"`
		Volumes     []string          `json:"volumes"`
		Healthcheck *struct {
			Test     []string `json:"test"`
			Interval string   `json:"interval"`
			Retries  int      `json:"retries"`
		} `json:"healthcheck"`
		DependsOn map[string]struct {
			Condition string `json:"condition"`
		} `json:"depends_on"`
		Restart   string `json:"restart"`
		StopGrace string `json:"stop_grace_period"`
	} `json:"services"`
}

// ReadCompose reads the file for Docker Compose.
func ReadCompose(t *testing.T) *compose {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(deploy, "docker-compose.yml"))
	c := new(compose)
	if err == nil {
		err = yaml.UnmarshalStrict(raw, c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The services of the compose file have commands with flags that exist, use only what is mounted, and depend on services
// that are there.
func TestTheComposeFile(t *testing.T) {
	c := ReadCompose(t)
	for name, s := range c.Services {
		checkArgs(t, name, s.Command)
		var mounts []string
		for _, v := range s.Volumes {
			parts := strings.Split(v, ":")
			if !strings.HasPrefix(parts[0], "./") {
				t.Errorf("%s mounts %s", name, v)
			}
			mounts = append(mounts, parts[1])
		}
		for _, arg := range s.Command {
			in := func(mount string) bool { return arg == mount || strings.HasPrefix(arg, mount+"/") }
			if strings.HasPrefix(arg, "/") && !strings.HasPrefix(arg, "/tmp/") && !slices.ContainsFunc(mounts, in) {
				t.Errorf("%s: %s is in no volume", name, arg)
			}
		}
		for other, d := range s.DependsOn {
			if on, ok := c.Services[other]; !ok || d.Condition == "service_healthy" && on.Healthcheck == nil {
				t.Errorf("%s waits for %s, which is never %s", name, other, d.Condition)
			}
		}
		if file := s.Build["dockerfile"]; file != "" {
			if _, err := os.Stat(filepath.Join(deploy, s.Build["context"], file)); errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is built from %s, which is not there", name, path.Join(s.Build["context"], file))
			}
		}
	}
	if len(c.Services) != 3 {
		t.Errorf("there are %d services", len(c.Services))
	}
}

type certificate struct{ Cert, Key string }

// WritePair writes a certificate for this machine and its key.
func WritePair(t *testing.T) certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	p := certificate{filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")}
	for file, block := range map[string]*pem.Block{p.Cert: {Type: "CERTIFICATE", Bytes: cert}, p.Key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}
