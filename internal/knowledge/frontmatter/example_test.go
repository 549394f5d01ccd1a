package frontmatter_test

import (
	"fmt"

	"github.com/haftdev/haft/internal/knowledge/frontmatter"
)

func ExampleParse() {
	doc, err := frontmatter.Parse("---\ndescription: Use when: it rains\ntools: Read, Bash(git add *)\n---\n# Rain\n")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(doc.Fields.Text("description"))
	fmt.Printf("%q\n", doc.Fields.List("tools"))
	fmt.Println(doc.Body)
	// Output:
	// Use when: it rains
	// ["Read" "Bash(git add *)"]
	// # Rain
}
