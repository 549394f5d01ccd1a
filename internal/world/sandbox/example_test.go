package sandbox_test

import (
	"fmt"

	"github.com/haftdev/haft/internal/world/sandbox"
)

// A Spec is given to package shellrun with a command. Paths are absolute and free of links.
func ExampleSpec() {
	spec := sandbox.Spec{Write: []string{"/srv/project"}, Protect: []string{"/srv/project/.git/hooks"}, Hide: []string{"/home/ada/.ssh"}}
	fmt.Println(spec.Check())
	spec.Write = append(spec.Write, "tmp")
	fmt.Println(spec.Check())
	// Output:
	// <nil>
	// a sandbox needs clean absolute paths, but "tmp" is not one
}
