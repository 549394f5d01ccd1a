package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/tool"
)

// table is the file that stands for a database.
const table = "orders.csv"

var columns = []string{"id", "city", "total"}

type query struct {
	Column string `json:"column" jsonschema:"The column to compare." haft:"example=city"`
	Equals string `json:"equals" jsonschema:"The value that the column must have."`
}

type rows struct {
	Rows [][]string `json:"rows"`
}

// queryOrders only reads. It says so, names the file that it reads, and checks what the schema
// cannot: which columns there are.
func queryOrders() tool.Tool {
	return tool.New(tool.Def[query, rows]{
		Name:        "QueryOrders",
		Description: "Returns the orders (" + strings.Join(columns, ", ") + ") that match.",
		Marks:       func(query) tool.Marks { return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Pure} },
		Paths: func(c *tool.Call, _ query) tool.Paths {
			return tool.Paths{Reads: []string{filepath.Join(c.Dir, table)}}
		},
		Validate: func(_ context.Context, _ *tool.Call, in query) *tool.Problem {
			if slices.Contains(columns, in.Column) {
				return nil
			}
			return &tool.Problem{Message: fmt.Sprintf("There is no column %q. The columns are %s.", in.Column, strings.Join(columns, ", "))}
		},
		Run: func(_ context.Context, c *tool.Call, in query) (rows, error) {
			file, err := os.Open(filepath.Join(c.Dir, table))
			if err != nil {
				return rows{}, tool.Errorf("The orders cannot be read: %w", err)
			}
			defer file.Close()
			all, err := csv.NewReader(file).ReadAll()
			if err != nil {
				return rows{}, tool.Errorf("%s is not a table: %w", table, err)
			}
			found, at := rows{Rows: [][]string{}}, slices.Index(columns, in.Column)
			for _, row := range all {
				if at < len(row) && row[at] == in.Equals {
					found.Rows = append(found.Rows, row)
				}
			}
			return found, nil
		},
		Summarize: func(in query) string { return in.Column + " = " + in.Equals },
	})
}
