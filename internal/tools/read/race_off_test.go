//go:build !race

package read

const raceDetector = false
