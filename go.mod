module github.com/haftdev/haft

go 1.26.0

require (
	github.com/gogs/chardet v0.0.0-20211120154057-b7413eaefb8f
	github.com/google/go-cmp v0.7.0
	golang.org/x/text v0.43.0
	znkr.io/diff v1.0.2
)

require golang.org/x/sys v0.49.0
