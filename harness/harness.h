// Everything a program for gangsim includes: <gangsim/harness.h>.
#pragma once

#include "gang/agreement.h"
#include "gang/current_gangs.h"
#include "gang/gang.h"
#include "gang/gangs.h"
#include "gang/half.h"
#include "gang/object.h"
#include "harness/main.h"
#include "harness/program/program.h"
#include "harness/program/rank.h"
#include "harness/run/runner.h"
