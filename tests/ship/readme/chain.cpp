// README, C++
#include "sampling.hpp"
#include <iostream>

int main()
{
#include "chain.hpp"
}
