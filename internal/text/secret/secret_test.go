package secret_test

import (
	"slices"
	"testing"

	"github.com/haftdev/haft/internal/text/secret"
)

func TestLook(t *testing.T) {
	where := secret.Where{Homes: []string{"/home/u"}, Roots: []string{"/home/u/.aws/work"}}
	for path, want := range map[string]secret.Level{
		"/home/u/.ssh/id_rsa":                secret.Closed,
		"/home/u/.ssh/id_rsa.pub":            secret.Open,
		"/home/u/.ssh/config":                secret.Open,
		"/home/u/.AWS/Credentials":           secret.Closed,
		"/home/u/.aws/config":                secret.Guarded,
		"/home/u/.haft/credentials.json":     secret.Closed,
		"/etc/shadow-":                       secret.Closed,
		"/srv/p/.env":                        secret.Guarded,
		"/srv/p/.еnv":                        secret.Guarded, // a Cyrillic letter
		"/srv/p/prod.env":                    secret.Guarded,
		"/srv/p/.env.example":                secret.Open,
		"/srv/p/.git/config":                 secret.Guarded,
		"/srv/p/.git/HEAD":                   secret.Open,
		"/srv/p/deploy/server.key":           secret.Guarded,
		"/srv/p/.zsh_history":                secret.Guarded,
		"/srv/p/main.go":                     secret.Open,
		"/home/u/.aws/work/readme.md":        secret.Closed, // below the user's own folder, wherever the project is
		"/srv/p/sub/.ssh/id_rsa":             secret.Guarded,
		"/srv/p/key/server.go":               secret.Open,
		"/srv/p/terraform.tfstate":           secret.Guarded,
		"/srv/p/.docker/nginx.conf":          secret.Open,
		"/srv/p/.docker/config.json":         secret.Guarded,
		"/home/u/.config/gh/hosts.yml":       secret.Closed,
		"/srv/p/ansible/inventory/hosts.yml": secret.Open,
	} {
		if got := where.Look(path); got.Level != want {
			t.Errorf("%s: level %d, want %d (%s)", path, got.Level, want, got.Pattern)
		}
	}
}

func TestPathsAreWhatNobodySeesUnasked(t *testing.T) {
	paths := secret.Paths("/home/u")
	i := slices.IndexFunc(paths, func(a secret.Anchored) bool { return a.Path == "/home/u/.ssh" })
	if i < 0 || !slices.Contains(paths[i].Except, "/home/u/.ssh/config") || !slices.Contains(paths[i].Except, "/home/u/.ssh/*.pub") {
		t.Errorf("the folder of ssh with its exceptions is not among %v", paths)
	}
	where := secret.Where{Homes: []string{"/home/u"}}
	for _, a := range paths {
		if a.Path == "" || where.Look(a.Path).Level == secret.Open {
			t.Errorf("%q is hidden and no secret", a.Path)
		}
	}
}

// A pattern in a command is compared with samples: each kind of name must have one.
func TestSamplesAreSecret(t *testing.T) {
	samples := secret.Samples()
	for _, want := range []string{".env", ".ssh", "server.key", "id_rsa", "credentials.json", ".bash_history"} {
		if !slices.Contains(samples, want) {
			t.Errorf("no sample %s in %v", want, samples)
		}
	}
}
