package jsonstream_test

import (
	"fmt"

	"github.com/haftdev/haft/internal/text/jsonstream"
)

func Example() {
	in := jsonstream.New(nil)
	for _, chunk := range []string{`{"file_pa`, `th": "/tmp/a.txt", "con`, `tent": "Hello`, `,\nwor`, `ld"}`} {
		if _, err := in.WriteString(chunk); err != nil {
			fmt.Println(err)
			return
		}
	}
	input, err := in.Close()
	fmt.Printf("%s %v\n", input, err)
	// Output:
	// {"file_path": "/tmp/a.txt", "content": "Hello,\nworld"} <nil>
}

func ExampleError() {
	in := jsonstream.New(nil)
	in.WriteString(`{"content": "say "hello" to them"}`)
	_, err := in.Close()
	fmt.Println(err)
	// Output:
	// expected ',' or '}' after the value of "content", got 'h' at byte 18 in `{"content": "say "⟦h⟧ello" to them"}`. Write a double quote inside a string as \", and put ',' between values.
}
