#pragma once

// Every static schedule.
#include <papcoll/algorithms/static/binomial.hpp>
#include <papcoll/algorithms/static/bruck.hpp>
#include <papcoll/algorithms/static/dissemination.hpp>
#include <papcoll/algorithms/static/linear.hpp>
#include <papcoll/algorithms/static/rabenseifner.hpp>
#include <papcoll/algorithms/static/recursive_doubling.hpp>
#include <papcoll/algorithms/static/ring.hpp>
