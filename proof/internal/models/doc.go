// Package models judges the answers that an object has given: there has to be an order of all its steps, each at some
// moment between its call and its return, in which a plain lock, semaphore or latch would have given the same answers.
// porcupine looks for that order.
//
// Package judge asks many questions of its own; this package asks one, which has most of them in it. Where both judge
// an object they must not contradict each other: what judge convicts of exclusion, permits or an early latch has no
// such order. Beyond that a model convicts of a refusal although the object was free, and of a release that was
// confirmed although the hold had ended before.
//
// A hold that was not given back for certain has a step of its own, its end. It may take place at any moment after the
// hold was certain for the last time, and at the latest when its lease is over. An operation whose outcome is unknown
// has a step that may come to nothing.
package models
