package schema_test

import (
	"fmt"

	"github.com/haftdev/haft/tool/schema"
)

func Example() {
	type input struct {
		FilePath string `json:"file_path" jsonschema:"Absolute path of the file." haft:"alias=path"`
		Limit    int    `json:"limit,omitempty" jsonschema:"Lines to read." haft:"min=1;max=2000"`
	}
	view := schema.Of[input]().View(nil)
	fixed, repairs, err := view.Check([]byte(`{"path": "/a", "limit": "10"}`))
	fmt.Println(string(fixed), len(repairs), err)
	for _, f := range view.Fields() {
		fmt.Println(f.Name)
	}
	// Output:
	// {"file_path":"/a","limit":10} 2 <nil>
	// file_path
	// limit
}
