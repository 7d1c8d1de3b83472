// Package verdict says of the folder of a run whether it is red, green or invalid. The folder has run.json, which says
// what was run and what it is held to, and a journal for each process. The verdict depends on nothing else: the same
// folder has the same verdict, byte for byte, on every machine and at any time.
//
//   - Red: a check of package judge or a model of package models convicts an object. The records that convict are shown.
//   - Invalid: nothing is convicted, but too little has happened, a journal has a hole, a model has not decided, or the
//     calm lane has stalled as well, so that a stall says nothing.
//   - Green: neither.
package verdict
